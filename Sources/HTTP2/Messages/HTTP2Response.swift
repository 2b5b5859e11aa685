/// A complete answer. Interim answers (1xx) and trailers are not part of it.
package struct HTTP2Response: Sendable {
    package let status: Int
    package let body: [UInt8]
    private let fields: HeaderFields

    package init(status: Int, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        self.init(status: status, fields: HeaderFields(headers), body: body)
    }

    init(status: Int, fields: HeaderFields, body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// In the order of arrival, without `:status`. Made anew by each call.
    package var headers: [HTTP2Header] { fields.all }

    /// The value of the first header with this lower-case name.
    package func header(_ name: String) -> String? { fields.value(of: name) }
}
