/// Answers one request and steers its connection, from any thread. What comes after the first answer, or after the stream or
/// the connection is gone, does nothing.
package struct HTTP2Responder: Sendable {
    /// The connection of the request.
    package let connection: HTTP2ConnectionControl
    package let streamID: Int32

    /// Answers the request. A header that HTTP/2 does not allow resets the stream instead.
    package func respond(status: Int, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        connection.post(.respond(streamID, status: status, headers: headers, body: body))
    }

    /// Resets the stream with an HTTP/2 error code (RFC 9113, 7), such as 7 for REFUSED_STREAM.
    package func reset(errorCode: UInt32) {
        connection.post(.reset(streamID, errorCode))
    }

    /// See `HTTP2ConnectionControl`.
    package func setMaxConcurrentStreams(_ limit: Int) {
        connection.setMaxConcurrentStreams(limit)
    }

    /// See `HTTP2ConnectionControl`.
    package func goAway(lastStreamID: Int32? = nil, errorCode: UInt32 = 0, opaqueData: [UInt8] = []) {
        connection.goAway(lastStreamID: lastStreamID, errorCode: errorCode, opaqueData: opaqueData)
    }

    /// See `HTTP2ConnectionControl`.
    package func abort() {
        connection.abort()
    }
}

/// Steers one connection of a server, from any thread. On a connection that is gone it does nothing.
package struct HTTP2ConnectionControl: Sendable {
    package let connectionID: Int
    private let mailbox: ServerMailbox

    init(connectionID: Int, mailbox: ServerMailbox) {
        self.connectionID = connectionID
        self.mailbox = mailbox
    }

    /// Sends SETTINGS with another MAX_CONCURRENT_STREAMS.
    package func setMaxConcurrentStreams(_ limit: Int) {
        post(.setMaxConcurrentStreams(limit))
    }

    /// Sends GOAWAY. Streams above `lastStreamID` (`nil`: the last one seen) are dropped; the connection closes when those
    /// below are answered.
    package func goAway(lastStreamID: Int32? = nil, errorCode: UInt32 = 0, opaqueData: [UInt8] = []) {
        post(.goAway(lastStreamID, errorCode, opaqueData))
    }

    /// Drops the TCP connection with a reset, as when a process dies.
    package func abort() {
        post(.abort)
    }

    func post(_ command: ServerMailbox.Command) {
        mailbox.post(connectionID, command)
    }
}
