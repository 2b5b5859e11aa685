import HTTPServer
import Kernel
import Signing

/// The `Idempotency-Key` of a request, with or without the quotes of a structured-field string.
struct IdempotencyKey: Equatable, Sendable {
    let text: String

    /// - Returns: `nil` for a request without the header.
    /// - Throws: 400 for more than one header, and for a key that is not 1 to 255 visible ASCII characters.
    init?(_ headers: HTTPHeaders) throws(Problem) {
        let values = headers.values("idempotency-key")
        guard !values.isEmpty else { return nil }
        var text = values[0]
        if text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") {
            text = String(text.dropFirst().dropLast())
        }
        guard values.count == 1, (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Problem(
                status: 400,
                slug: "invalid-idempotency-key",
                title: "Bad request",
                detail: "Idempotency-Key must be one key of 1 to 255 visible ASCII characters."
            )
        }
        self.text = text
    }
}

/// What makes two requests the same: method, route with its parameters and the body's content, whatever its spacing and order
/// of names.
enum RequestFingerprint {
    static func of(_ request: HTTPRequest, _ body: JSONValue) -> String {
        let parameters = request.parameters.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return Hex.encode(
            SHA256.hash("\(request.method.rawValue) \(request.route)\(parameters)\n\(canonical(body).text)")
        )
    }

    private static func canonical(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(canonical))
        case .object(let members):
            .object(
                members.map { JSONMember($0.name, canonical($0.value)) }
                    .sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) }
            )
        default: value
        }
    }
}
