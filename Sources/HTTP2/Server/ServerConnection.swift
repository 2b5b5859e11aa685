import CNghttp2
import Kernel

/// One connection of a server: TLS handshake first, then the session with its streams. It belongs to the server's thread.
final class ServerConnection {
    let id: Int
    let channel: TLSChannel
    let handshakeDeadline: MonotonicTime
    /// Set when the handshake is done.
    private(set) var session: HTTP2Session?
    private(set) var streams = StreamTable<ServerStream>()
    /// Complete requests that the handler has not seen yet.
    var ready: [HTTP2ServerRequest] = []
    /// The events that epoll watches for.
    var watched: UInt32 = 0
    /// Set when everything was said: until then the peer's last bytes are read and thrown away.
    var lingerUntil: MonotonicTime?
    /// There is something to flush in this turn.
    var isDirty = false
    private var clientName: String?
    private let options: HTTP2ServerOptions

    init(id: Int, channel: TLSChannel, options: HTTP2ServerOptions, handshakeDeadline: MonotonicTime) {
        self.id = id
        self.channel = channel
        self.options = options
        self.handshakeDeadline = handshakeDeadline
    }

    /// Begins HTTP/2 after the handshake.
    func begin() throws(HTTP2Error) {
        guard channel.negotiatedHTTP2 else { throw HTTP2Error(.alpnMissing, "the client did not ask for h2") }
        let session = try HTTP2Session(isServer: true, channel: channel, events: self)
        session.submit(settings: [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UInt32(clamping: options.maxConcurrentStreams)),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UInt32(clamping: options.initialWindowSize)),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(clamping: options.maxRequestHeaders)),
        ])
        self.session = session
        clientName = channel.peerName
    }

    /// Breaks the reference cycle with the session.
    func end() {
        session?.invalidate()
        session = nil
    }

    /// Does what another thread asked for, `abort` excepted.
    func perform(_ command: ServerMailbox.Command) {
        guard let session else { return }
        switch command {
        case .respond(let streamID, let status, let headers, let body):
            respond(streamID, status: status, headers: headers, body: body)
        case .reset(let streamID, let code): session.reset(streamID, code)
        case .setMaxConcurrentStreams(let limit):
            session.submit(settings: [(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UInt32(clamping: limit))])
        case .goAway(let last, let code, let data):
            session.goAway(lastStreamID: last, errorCode: code, opaqueData: data)
        case .abort: break
        }
    }

    private func respond(_ streamID: Int32, status: Int, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        guard let session, let tag = session.tag(streamID), let stream = streams[tag], !stream.isAnswered else {
            return
        }
        stream.isAnswered = true
        stream.responseBody = body
        if !session.submitResponse(streamID, status: status, headers: headers, hasBody: !body.isEmpty) {
            session.reset(streamID, NGHTTP2_INTERNAL_ERROR.rawValue)
        }
    }
}

/// A request on its way in and its answer on the way out.
final class ServerStream {
    let streamID: Int32
    var method = ""
    var path = ""
    var authority = ""
    var headers: [HTTP2Header] = []
    var headerSize = 0
    var body: [UInt8] = []
    var isAnswered = false
    var remoteEnded = false
    var responseBody: [UInt8] = []
    var responseOffset = 0

    init(streamID: Int32) {
        self.streamID = streamID
    }
}

extension ServerConnection: HTTP2SessionEvents {
    func streamBegan(_ streamID: Int32) {
        let tag = streams.insert(ServerStream(streamID: streamID))
        session?.setTag(tag, of: streamID)
    }

    func received(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, tag: Int) -> Bool {
        guard let stream = streams[tag], !stream.isAnswered else { return true }
        stream.headerSize += name.count + value.count + 32
        guard stream.headerSize <= options.maxRequestHeaders else {
            respond(stream.streamID, status: 431)
            return true
        }
        let name = String(decoding: name, as: UTF8.self)
        let value = String(decoding: value, as: UTF8.self)
        switch name {
        case ":method": stream.method = value
        case ":path": stream.path = value
        case ":authority": stream.authority = value
        case ":scheme": break
        default: stream.headers.append(HTTP2Header(name, value))
        }
        return true
    }

    func received(data: UnsafeBufferPointer<UInt8>, tag: Int) {
        guard let stream = streams[tag], !stream.isAnswered else { return }
        guard stream.body.count + data.count <= options.maxRequestBody else {
            stream.body = []
            respond(stream.streamID, status: 413)
            return
        }
        stream.body.append(contentsOf: data)
    }

    func received(_ frame: FrameNotice) {
        switch frame {
        case .headers(let tag, endStream: true), .data(let tag, endStream: true):
            guard let stream = streams[tag] else { return }
            stream.remoteEnded = true
            guard !stream.isAnswered else { return }
            ready.append(
                HTTP2ServerRequest(
                    connectionID: id,
                    streamID: stream.streamID,
                    method: stream.method,
                    path: stream.path,
                    authority: stream.authority,
                    headers: stream.headers,
                    body: stream.body,
                    clientName: clientName
                )
            )
            stream.headers = []
            stream.body = []
        case .headers, .data, .settings, .ping, .goAway, .other: break
        }
    }

    func sent(_ frame: FrameNotice) {
        switch frame {
        case .headers(let tag, endStream: true), .data(let tag, endStream: true):
            // The answer came before the end of the request (413, 431): the rest is not wanted (RFC 9113, 8.1).
            guard let stream = streams[tag], !stream.remoteEnded else { return }
            session?.reset(stream.streamID, NGHTTP2_NO_ERROR.rawValue)
        case .headers, .data, .settings, .ping, .goAway, .other: break
        }
    }

    func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>, tag: Int) -> (count: Int, isLast: Bool) {
        guard let stream = streams[tag] else { return (0, true) }
        return stream.responseBody.fill(buffer, offset: &stream.responseOffset)
    }

    func streamClosed(_ streamID: Int32, tag: Int, errorCode: UInt32) {
        streams.remove(tag)
    }
}
