import CNghttp2

/// Header fields that many requests share: checked once, and never copied again.
///
/// Unchecked, because the compiler cannot see that the memory is written in `init` alone and freed with the last reference.
package final class HTTP2HeaderGroup: @unchecked Sendable {
    private let bytes: UnsafeMutablePointer<UInt8>
    /// Fields that point into `bytes`.
    let pairs: UnsafeMutableBufferPointer<nghttp2_nv>

    /// - Parameters:
    ///   - authority: host and, where it is not 443, port.
    ///   - headers: in lower case, without pseudo-headers.
    /// - Throws: `invalidRequest` for a field that HTTP/2 cannot carry.
    package init(method: String, authority: String, headers: [HTTP2Header]) throws(HTTP2Error) {
        var block = HeaderBlock()
        block.append(pseudo: ":method", method)
        block.append(pseudo: ":scheme", "https")
        block.append(pseudo: ":authority", authority)
        block.append(headers)
        guard let copy = block.copied() else {
            throw HTTP2Error(.invalidRequest, "a header name or value is not allowed in HTTP/2")
        }
        (bytes, pairs) = copy
    }

    deinit {
        bytes.deallocate()
        pairs.deallocate()
    }
}

/// A POST whose fields are laid out already: what it shares with others, and its own.
package struct HTTP2PreparedRequest: Sendable {
    let shared: HTTP2HeaderGroup
    let own: HTTP2Fields
    let body: [UInt8]

    /// - Parameter own: begins with the path.
    package init(shared: HTTP2HeaderGroup, own: HTTP2Fields, body: [UInt8]) {
        self.shared = shared
        self.own = own
        self.body = body
    }

    /// What the request weighs in the queue, in bytes.
    var weight: Int { own.bytes.count + body.count + 128 }
}
