import CNghttp2

// The functions nghttp2 calls. They stand in file scope because C knows no context; the user data is the session.

/// The table of callbacks for a new session; the caller frees it.
func makeSessionCallbacks() -> OpaquePointer? {
    var callbacks: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrameReceived)
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, onFrameSent)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    return callbacks
}

/// Tags are stored as stream user data plus one, so that no user data (`nil`) is no tag.
private func tag(_ session: OpaquePointer?, _ streamID: Int32) -> Int? {
    guard let data = nghttp2_session_get_stream_user_data(session, streamID) else { return nil }
    return Int(bitPattern: data) - 1
}

private func owner(_ context: UnsafeMutableRawPointer?) -> HTTP2Session? {
    context.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
}

private func events(_ context: UnsafeMutableRawPointer?) -> (any HTTP2SessionEvents)? {
    guard let context else { return nil }
    return Unmanaged<HTTP2Session>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.events }
}

private func onBeginHeaders(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
    events(context)?.streamBegan(frame.pointee.hd.stream_id)
    return 0
}

private func onHeader(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?,
    _ valueLength: Int,
    _ flags: UInt8,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let owner = owner(context), let tag = owner.headerTag(frame.pointee.hd.stream_id),
        let events = owner.events
    else { return 0 }
    let goOn = events.received(
        name: UnsafeBufferPointer(start: name, count: nameLength),
        value: UnsafeBufferPointer(start: value, count: valueLength),
        tag: tag
    )
    return goOn ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
}

private func onDataChunk(
    _ session: OpaquePointer?,
    _ flags: UInt8,
    _ streamID: Int32,
    _ data: UnsafePointer<UInt8>?,
    _ length: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let tag = tag(session, streamID) else { return 0 }
    events(context)?.received(data: UnsafeBufferPointer(start: data, count: length), tag: tag)
    return 0
}

private func onFrameReceived(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let owner = owner(context) else { return 0 }
    owner.forgetHeaderTag()
    owner.events?.received(notice(session, frame))
    return 0
}

private func onFrameSent(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame else { return 0 }
    events(context)?.sent(notice(session, frame))
    return 0
}

private func onStreamClose(
    _ session: OpaquePointer?,
    _ streamID: Int32,
    _ errorCode: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    owner(context)?.forgetHeaderTag()
    guard let tag = tag(session, streamID) else { return 0 }
    events(context)?.streamClosed(streamID, tag: tag, errorCode: errorCode)
    return 0
}

/// Hands nghttp2 the next piece of a body.
func readBody(
    _ session: OpaquePointer?,
    _ streamID: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let events = events(context), let tag = tag(session, streamID) else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let filled = events.fill(UnsafeMutableBufferPointer(start: buffer, count: length), tag: tag)
    if filled.isLast { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return filled.count
}

private func notice(_ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>) -> FrameNotice {
    let header = frame.pointee.hd
    let endStream = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
    let isAck = UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue:
        return tag(session, header.stream_id).map { .headers(tag: $0, endStream: endStream) } ?? .other
    case NGHTTP2_DATA.rawValue:
        return tag(session, header.stream_id).map { .data(tag: $0, endStream: endStream) } ?? .other
    case NGHTTP2_SETTINGS.rawValue: return .settings(isAck: isAck)
    case NGHTTP2_PING.rawValue:
        let payload = withUnsafeBytes(of: frame.pointee.ping.opaque_data) { $0.loadUnaligned(as: UInt64.self) }
        return .ping(isAck: isAck, payload: payload)
    case NGHTTP2_GOAWAY.rawValue:
        let goAway = frame.pointee.goaway
        // Opaque data is text in practice (Apple sends JSON); what is longer than a log line is cut.
        let data = UnsafeBufferPointer(start: goAway.opaque_data, count: min(goAway.opaque_data_len, 1024))
        return .goAway(
            lastStreamID: goAway.last_stream_id,
            errorCode: goAway.error_code,
            opaqueData: String(decoding: data, as: UTF8.self)
        )
    default: return .other
    }
}
