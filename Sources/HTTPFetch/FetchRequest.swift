/// A request as it is sent, once: a failure is told, never hidden behind a repetition.
package struct FetchRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    package var method: Method
    /// An absolute URL, without user name and password.
    package var url: String
    package var headers: [(name: String, value: String)]
    /// Sent with `post` alone.
    package var body: [UInt8]
    /// From the start of the transfer to the complete answer; `nil` for the client's own limit.
    package var timeout: Duration?

    package init(
        _ method: Method = .get,
        _ url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        timeout: Duration? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// A form as browsers send it (`application/x-www-form-urlencoded`).
    package static func form(_ url: String, _ fields: [(name: String, value: String)]) -> FetchRequest {
        let text = fields.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }.joined(separator: "&")
        return FetchRequest(
            .post,
            url,
            headers: [("content-type", "application/x-www-form-urlencoded")],
            body: Array(text.utf8)
        )
    }

    private static func percentEncoded(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                output.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
