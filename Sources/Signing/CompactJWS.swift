package import Kernel

/// A compact JWS taken apart, with nothing verified yet (RFC 7515, 7.1). Reading is strict: one spelling for every token.
package struct CompactJWS: Sendable {
    /// How large a token may be.
    package struct Limits: Sendable {
        /// The longest token that is read, in bytes.
        package var size: Int
        /// The longest header that is read, in base64url characters.
        package var header: Int
        package var json: JSONLimits

        package init(size: Int, header: Int, json: JSONLimits) {
            self.size = size
            self.header = header
            self.json = json
        }

        /// Access tokens: small, flat and from anybody.
        package static let token = Limits(size: 8192, header: 1024, json: JSONLimits(depth: 8, values: 1000))
    }

    /// The header: one JSON object.
    package let header: JSONValue
    /// The payload: one JSON object.
    package let payload: JSONValue
    /// What was signed: the first two segments with their dot.
    package let signingInput: [UInt8]
    package let signature: [UInt8]

    /// Takes the token apart.
    /// - Throws: `tooLarge` or `malformed`.
    package init(_ token: String, limits: Limits = .token) throws(JWTError) {
        guard token.utf8.count <= limits.size else {
            throw JWTError(.tooLarge, "a token longer than \(limits.size) bytes")
        }
        let bytes = Array(token.utf8)
        // One scan that stops at the third dot: a token of dots alone must not become thousands of segments.
        guard let first = bytes.firstIndex(of: UInt8(ascii: ".")),
            let second = bytes[(first + 1)...].firstIndex(of: UInt8(ascii: ".")),
            !bytes[(second + 1)...].contains(UInt8(ascii: "."))
        else { throw JWTError(.malformed, "a token needs exactly three segments") }
        guard first <= limits.header else {
            throw JWTError(.tooLarge, "a header longer than \(limits.header) characters")
        }
        header = try Self.object(bytes[..<first], "header", limits.json)
        payload = try Self.object(bytes[(first + 1)..<second], "payload", limits.json)
        guard let signature = Base64URL.decode(bytes[(second + 1)...]), !signature.isEmpty else {
            throw JWTError(.malformed, "the signature is missing or no canonical base64url")
        }
        self.signature = signature
        signingInput = Array(bytes[..<second])
    }

    private static func object(
        _ segment: ArraySlice<UInt8>,
        _ name: String,
        _ limits: JSONLimits
    ) throws(JWTError) -> JSONValue {
        guard let bytes = Base64URL.decode(segment) else {
            throw JWTError(.malformed, "the \(name) is no canonical base64url")
        }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, limits: limits)
        } catch {
            throw JWTError(.malformed, "the \(name) is no acceptable JSON: \(error)")
        }
        guard value.members != nil else { throw JWTError(.malformed, "the \(name) is \(value.kind), not an object") }
        return value
    }
}
