import Kernel

/// The usable keys of a JWK set (RFC 7517, 5).
package struct JWKSet: Sendable {
    /// The largest set that is read, in bytes.
    package static let sizeLimit = 64 * 1024
    /// The most keys a set may have; more is a mistake or an attack.
    package static let keyLimit = 50

    package let keys: [VerificationKey]
    /// Keys that were left out: of another kind, too weak, for another use, or with an id that stands there twice.
    package let ignored: Int

    /// Reads a set.
    /// - Throws: `invalidKey` for what is no set, is too large, or has no usable key: then the former set is the better one.
    package init(parsing text: [UInt8]) throws(SigningError) {
        guard text.count <= Self.sizeLimit else {
            throw SigningError(.invalidKey, "a key set longer than \(Self.sizeLimit) bytes")
        }
        let value: JSONValue
        do { value = try JSONValue(parsing: text, limits: JSONLimits(depth: 8, values: 5000)) } catch {
            throw SigningError(.invalidKey, "a key set that is no JSON: \(error)")
        }
        guard let entries = value["keys"]?.arrayValue else {
            throw SigningError(.invalidKey, "a key set without a list of keys")
        }
        guard entries.count <= Self.keyLimit else {
            throw SigningError(.invalidKey, "a key set of more than \(Self.keyLimit) keys")
        }
        // An id twice, of whatever kind, says nothing about which key is meant.
        var seen: Set<String> = []
        var twice: Set<String> = []
        for name in entries.compactMap({ $0["kid"]?.stringValue }) where !seen.insert(name).inserted {
            twice.insert(name)
        }
        var keys: [VerificationKey] = []
        for entry in entries {
            guard let key = try? VerificationKey(jwk: entry), key.keyID.map({ !twice.contains($0) }) ?? true else {
                continue
            }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw SigningError(.invalidKey, "a key set without a usable key") }
        self.keys = keys
        ignored = entries.count - keys.count
    }
}
