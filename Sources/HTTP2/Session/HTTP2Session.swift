import CNghttp2

/// One end of an HTTP/2 connection: an nghttp2 session over a TLS channel, with the buffers between them. It belongs to one
/// thread, does no waiting and knows no requests: its owner does, through `HTTP2SessionEvents`.
final class HTTP2Session {
    /// What came of reading or writing.
    enum Outcome: Equatable {
        /// Nothing more can be done before the socket is ready.
        case blocked
        /// Reading: there may be more. Writing: all is written.
        case done
        /// The connection is over, with a reason where it was not in order.
        case ended(String?)
    }

    /// What goes into one TLS record at most.
    private static let recordSize = 16_384

    /// Told of everything; the owner lets go of it with `invalidate`.
    private(set) var events: (any HTTP2SessionEvents)?
    let channel: TLSChannel
    private var session: OpaquePointer?
    private var headerBlock = HeaderBlock()
    /// Kept for its memory.
    private var preparedPairs: [nghttp2_nv] = []
    /// The stream whose header block is being read, and its tag: a block is never interrupted by another's.
    private var headersOf: (streamID: Int32, tag: Int)?
    private let output: UnsafeMutableRawBufferPointer
    private var outputCount = 0

    /// - Throws: only when memory is short.
    init(isServer: Bool, channel: TLSChannel, events: any HTTP2SessionEvents) throws(HTTP2Error) {
        self.channel = channel
        self.events = events
        // Room for a full record and the largest frame that may follow it.
        output = .allocate(byteCount: 2 * Self.recordSize + 64, alignment: 16)
        let callbacks = makeSessionCallbacks()
        defer { nghttp2_session_callbacks_del(callbacks) }
        var option: OpaquePointer?
        nghttp2_option_new(&option)
        defer { nghttp2_option_del(option) }
        // Closed streams would be kept for a priority tree that nobody uses.
        nghttp2_option_set_no_closed_streams(option, 1)
        // The owner alone decides how many streams are open; nghttp2's guess before the first SETTINGS is 100.
        nghttp2_option_set_peer_max_concurrent_streams(option, 1)
        // A client that gives up on a thousand requests at once resets a thousand streams and means no harm. A flood of
        // resets (CVE-2023-44487) is still cut off.
        nghttp2_option_set_stream_reset_rate_limit(option, 10_000, 1_000)
        let context = Unmanaged.passUnretained(self).toOpaque()
        let result =
            isServer
            ? nghttp2_session_server_new2(&session, callbacks, context, option)
            : nghttp2_session_client_new2(&session, callbacks, context, option)
        guard result == 0 else { throw HTTP2Error(.connectFailed, "making a session: \(Self.text(result))") }
    }

    deinit {
        nghttp2_session_del(session)
        output.deallocate()
    }

    /// Tells the owner nothing more, which also breaks the reference cycle between the two.
    func invalidate() {
        events = nil
    }

    // MARK: Bytes

    /// Reads one record and handles the frames in it.
    func receive(scratch: UnsafeMutableRawBufferPointer) -> Outcome {
        switch channel.read(into: scratch) {
        case .done(let count):
            let bytes = scratch.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let result = nghttp2_session_mem_recv(session, bytes, count)
            return result < 0 ? .ended("HTTP/2 violation: \(Self.text(Int32(result)))") : .done
        case .wantsRead, .wantsWrite: return .blocked
        case .closed: return .ended(nil)
        case .failed(let reason): return .ended(reason)
        }
    }

    /// Writes what the session has to say, gathered into full TLS records.
    func flush() -> Outcome {
        while true {
            var exhausted = false
            while outputCount < Self.recordSize && !exhausted {
                var frame: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(session, &frame)
                guard count >= 0 else { return .ended("HTTP/2 violation: \(Self.text(Int32(count)))") }
                guard count > 0, let frame else {
                    exhausted = true
                    break
                }
                output.baseAddress?.advanced(by: outputCount).copyMemory(from: frame, byteCount: count)
                outputCount += count
            }
            guard outputCount > 0 else { return .done }
            let record = UnsafeRawBufferPointer(rebasing: output[..<min(outputCount, Self.recordSize)])
            switch channel.write(record) {
            case .done(let count):
                outputCount -= count
                if outputCount > 0, let start = output.baseAddress {
                    start.copyMemory(from: start + count, byteCount: outputCount)
                }
            case .wantsRead, .wantsWrite: return .blocked
            case .closed: return .ended(nil)
            case .failed(let reason): return .ended(reason)
            }
        }
    }

    /// Whether both sides have said all they will.
    var isFinished: Bool {
        outputCount == 0 && nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    // MARK: Frames

    /// Queues a SETTINGS frame.
    func submit(settings: [(nghttp2_settings_id, UInt32)]) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    }

    /// Lets the peer send this many bytes over all streams before it has to wait.
    func setConnectionWindow(_ size: Int32) {
        nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, size)
    }

    /// A setting of the peer.
    func peerSetting(_ id: nghttp2_settings_id) -> UInt32 {
        nghttp2_session_get_remote_settings(session, id)
    }

    /// What came of submitting a request.
    enum Submission: Equatable {
        case stream(Int32)
        /// A header field is not allowed.
        case invalid
        /// The connection has used up its stream ids.
        case exhausted
    }

    /// Queues a request. What a prepared one shares must live until its stream is closed.
    func submit(_ content: ClientStream.Content, tag: Int) -> Submission {
        switch content {
        case .plain(let request): return submit(request, tag: tag)
        case .prepared(let request):
            let hasBody = !request.body.isEmpty
            var pairs: [nghttp2_nv] = []
            swap(&pairs, &preparedPairs)
            defer { swap(&pairs, &preparedPairs) }
            return HeaderBlock.withPairs(request, scratch: &pairs) { pairs in
                submit(pairs, hasBody: hasBody, tag: tag)
            }
        }
    }

    private func submit(_ request: HTTP2Request, tag: Int) -> Submission {
        headerBlock.removeAll()
        headerBlock.append(pseudo: ":method", request.method)
        headerBlock.append(pseudo: ":scheme", "https")
        headerBlock.append(pseudo: ":authority", request.authority)
        headerBlock.append(pseudo: ":path", request.path)
        headerBlock.append(request.headers)
        let hasBody = !request.body.isEmpty
        return headerBlock.withPairs { pairs in submit(pairs, hasBody: hasBody, tag: tag) }
    }

    private func submit(_ pairs: UnsafeBufferPointer<nghttp2_nv>?, hasBody: Bool, tag: Int) -> Submission {
        guard let pairs else { return .invalid }
        var provider = nghttp2_data_provider()
        provider.read_callback = readBody
        let streamID = withUnsafePointer(to: &provider) { provider in
            nghttp2_submit_request(
                session,
                nil,
                pairs.baseAddress,
                pairs.count,
                hasBody ? provider : nil,
                UnsafeMutableRawPointer(bitPattern: tag + 1)
            )
        }
        return streamID > 0 ? .stream(streamID) : .exhausted
    }

    /// Queues an answer.
    /// - Returns: whether the fields are allowed and the stream is still open.
    func submitResponse(_ streamID: Int32, status: Int, headers: [HTTP2Header], hasBody: Bool) -> Bool {
        headerBlock.removeAll()
        headerBlock.append(pseudo: ":status", String(status))
        headerBlock.append(headers)
        let session = session
        return headerBlock.withPairs { pairs in
            guard let pairs else { return false }
            var provider = nghttp2_data_provider()
            provider.read_callback = readBody
            return withUnsafePointer(to: &provider) { provider in
                nghttp2_submit_response(
                    session,
                    streamID,
                    pairs.baseAddress,
                    pairs.count,
                    hasBody ? provider : nil
                ) == 0
            }
        }
    }

    /// Queues a RST_STREAM.
    func reset(_ streamID: Int32, _ errorCode: UInt32) {
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, errorCode)
    }

    /// Queues a PING.
    func ping(_ payload: UInt64) {
        withUnsafeBytes(of: payload) { bytes in
            let opaque = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            _ = nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), opaque)
        }
    }

    /// Queues a GOAWAY; streams above `lastStreamID`, by default the last one seen, are dropped.
    func goAway(lastStreamID: Int32?, errorCode: UInt32, opaqueData: [UInt8] = []) {
        let last = lastStreamID ?? nghttp2_session_get_last_proc_stream_id(session)
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        nghttp2_submit_goaway(session, flags, last, errorCode, opaqueData, opaqueData.count)
    }

    // MARK: Tags

    /// The tag of an open stream.
    func tag(_ streamID: Int32) -> Int? {
        nghttp2_session_get_stream_user_data(session, streamID).map { Int(bitPattern: $0) - 1 }
    }

    /// The tag of the stream whose headers are being read; looks it up once for each block.
    func headerTag(_ streamID: Int32) -> Int? {
        if let headersOf, headersOf.streamID == streamID { return headersOf.tag }
        guard let tag = tag(streamID) else { return nil }
        headersOf = (streamID, tag)
        return tag
    }

    /// A header block is at its end, or a stream has closed.
    func forgetHeaderTag() {
        headersOf = nil
    }

    func setTag(_ tag: Int, of streamID: Int32) {
        nghttp2_session_set_stream_user_data(session, streamID, UnsafeMutableRawPointer(bitPattern: tag + 1))
    }

    private static func text(_ code: Int32) -> String {
        nghttp2_strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
