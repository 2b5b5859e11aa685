import CNghttp2
import Glibc
import Kernel

extension ClientLoop: HTTP2SessionEvents {
    func streamBegan(_ streamID: Int32) {}

    func received(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, tag: Int) -> Bool {
        guard let stream = streams[tag] else { return true }
        stream.headerSize += name.count + value.count + 32
        guard stream.headerSize <= options.maxResponseHeaders else {
            let message = "the answer's headers exceed \(options.maxResponseHeaders) bytes"
            finish(stream, .failure(HTTP2Error(.responseTooLarge, message, wasProcessed: .unknown)))
            return false
        }
        if name.first == UInt8(ascii: ":") {
            // nghttp2 has verified that it is `:status` with three digits. An interim answer is replaced by the next one.
            stream.status = value.reduce(0) { $0 * 10 + Int($1) - 48 }
            stream.fields.removeAll()
        } else if keeps(name) {
            stream.fields.append(name: name, value: value)
        }
        return true
    }

    private func keeps(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let keptHeaders else { return true }
        guard let start = name.baseAddress else { return false }
        return keptHeaders.contains { $0.count == name.count && memcmp($0, start, name.count) == 0 }
    }

    func received(data: UnsafeBufferPointer<UInt8>, tag: Int) {
        guard let session, let stream = streams[tag], !stream.isFinished else { return }
        guard stream.body.count + data.count <= options.maxResponseBody else {
            let message = "the answer's body exceeds \(options.maxResponseBody) bytes"
            abandon(stream, HTTP2Error(.responseTooLarge, message, wasProcessed: .unknown), session)
            return
        }
        stream.body.append(contentsOf: data)
    }

    func received(_ frame: FrameNotice) {
        stall.frameReceived(now: now, streamsOpen: streams.count > 0)
        switch frame {
        case .headers, .data: stall.answerProgressed(now: now, streamsOpen: true)
        case .settings, .ping, .goAway, .other: break
        }
        switch frame {
        case .headers(let tag, endStream: true), .data(let tag, endStream: true):
            guard let session, let stream = streams[tag] else { return }
            stream.remoteEnded = true
            // The peer answered before it had read the whole request (RFC 9113, 8.1); the rest is of no use.
            if !stream.localEnded { session.reset(stream.streamID, NGHTTP2_NO_ERROR.rawValue) }
        case .settings(isAck: false): settingsReceived = true
        case .ping(isAck: true, let payload): pings.answered(payload)
        case .goAway(let lastStreamID, let errorCode, let opaqueData):
            let reason = opaqueData.isEmpty ? String(cString: nghttp2_http2_strerror(errorCode)) : opaqueData
            goAway = (lastStreamID, reason)
        case .headers, .data, .settings, .ping, .other: break
        }
    }

    func sent(_ frame: FrameNotice) {
        switch frame {
        case .headers(let tag, let endStream):
            guard let stream = streams[tag] else { return }
            stream.headersSent = true
            stream.localEnded = stream.localEnded || endStream
        case .data(let tag, let endStream):
            guard endStream, let stream = streams[tag] else { return }
            stream.localEnded = true
        case .settings, .ping, .goAway, .other: break
        }
    }

    func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>, tag: Int) -> (count: Int, isLast: Bool) {
        guard let stream = streams[tag] else { return (0, true) }
        var offset = stream.bodyOffset
        defer { stream.bodyOffset = offset }
        return stream.content.body.fill(buffer, offset: &offset)
    }

    func streamClosed(_ streamID: Int32, tag: Int, errorCode: UInt32) {
        guard let stream = streams[tag] else { return }
        free(tag)
        // A stream that we gave up says nothing about the peer; any other end is its doing.
        guard !stream.isFinished else { return }
        stall.answerProgressed(now: now, streamsOpen: streams.count > 0)
        finish(stream, result(of: stream, streamID, errorCode))
    }

    private func result(
        of stream: ClientStream,
        _ streamID: Int32,
        _ errorCode: UInt32
    ) -> Result<HTTP2Response, HTTP2Error> {
        if stream.remoteEnded, stream.status >= 200 {
            return .success(HTTP2Response(status: stream.status, fields: stream.fields, body: stream.body))
        }
        if let goAway, !stream.headersSent || streamID > goAway.lastStreamID {
            return .failure(HTTP2Error(.goAwayNotProcessed, "the peer went away: \(goAway.reason)"))
        }
        let name = String(cString: nghttp2_http2_strerror(errorCode))
        if errorCode == NGHTTP2_REFUSED_STREAM.rawValue {
            return .failure(HTTP2Error(.refusedStream, "the peer refused the stream", resetCode: errorCode))
        }
        if errorCode == NGHTTP2_NO_ERROR.rawValue {
            return .failure(
                HTTP2Error(.malformedResponse, "the answer ended early", wasProcessed: stream.processedState)
            )
        }
        return .failure(
            HTTP2Error(
                .streamReset,
                "the stream was reset: \(name)",
                wasProcessed: stream.processedState,
                resetCode: errorCode
            )
        )
    }
}
