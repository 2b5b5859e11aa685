/// A header field. Names are lower case, as HTTP/2 demands (RFC 9113, 8.2); a request with another name is refused.
package struct HTTP2Header: Sendable, Equatable {
    package let name: String
    package let value: String
    /// Whether the field is sent as a literal that no hop may put into its compression table: for secrets such as
    /// `authorization`, and for values that never repeat.
    package var neverIndexed: Bool

    package init(_ name: String, _ value: String, neverIndexed: Bool = false) {
        self.name = name
        self.value = value
        self.neverIndexed = neverIndexed
    }
}
