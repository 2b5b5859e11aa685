package import Kernel
import Signing

/// A backend that may call service routes.
package struct ServiceCredential: Sendable, Equatable {
    /// Its name, in logs and as the owner of idempotency keys.
    package let id: String
    /// SHA-256 of the whole token.
    let digest: [UInt8]
    package let scopes: Set<Scope>
    /// From this moment on it is refused.
    let notAfter: Timestamp?
}

/// The service credentials of one file: JSON `[{"id", "sha256", "scopes", "notAfter"?}]`, where `sha256` is the digest of
/// the whole token in hexadecimal. The file holds no secret that could be used.
///
/// A token reads `vsk_<id>_<secret>`, the secret being 32 random bytes in base64url. An id may stand there twice, so that a new token is
/// valid beside the old one while a backend changes over; both are the same backend, with the same idempotency keys.
package struct ServiceCredentials: Sendable {
    /// What is wrong with a credentials file.
    package struct FileError: Error, CustomStringConvertible {
        package let description: String
    }

    static let tokenPrefix = "vsk_"

    /// The most tokens that one backend may have at once.
    private static let tokensPerID = 2

    private let byID: [String: [ServiceCredential]]

    /// No credentials: service routes refuse everybody.
    package static let none = ServiceCredentials(byID: [:])

    private init(byID: [String: [ServiceCredential]]) {
        self.byID = byID
    }

    /// Reads a file's text.
    /// - Throws: `FileError` naming the entry and what is wrong with it.
    package init(parsing text: [UInt8]) throws(FileError) {
        let value: JSONValue
        do { value = try JSONValue(parsing: text) } catch { throw FileError(description: "not JSON: \(error)") }
        guard let entries = value.arrayValue else { throw FileError(description: "not a JSON array") }
        var byID: [String: [ServiceCredential]] = [:]
        for (index, entry) in entries.enumerated() {
            let credential = try Self.credential(entry, index)
            let others = byID[credential.id, default: []]
            guard others.count < Self.tokensPerID else {
                throw FileError(description: "entry \(index): the id \"\(credential.id)\" stands there more than twice")
            }
            guard !others.contains(where: { $0.digest == credential.digest }) else {
                throw FileError(description: "entry \(index): the same sha256 stands there twice")
            }
            byID[credential.id] = others + [credential]
        }
        self.byID = byID
    }

    private static func credential(_ entry: JSONValue, _ index: Int) throws(FileError) -> ServiceCredential {
        func fail(_ text: String) -> FileError { FileError(description: "entry \(index): \(text)") }
        guard let id = entry["id"]?.stringValue, isID(id) else {
            throw fail("id must be 1 to 64 of A-Z a-z 0-9 . -")
        }
        guard let digest = entry["sha256"]?.stringValue.flatMap({ Hex.decode($0) }), digest.count == 32 else {
            throw fail("sha256 must be 64 hexadecimal digits")
        }
        guard let names = entry["scopes"]?.arrayValue else { throw fail("scopes must be an array") }
        var scopes: Set<Scope> = []
        for name in names {
            guard let scope = name.stringValue.flatMap(Scope.init) else {
                let known = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                throw fail("unknown scope \(name.text.prefix(64)); known are \(known)")
            }
            scopes.insert(scope)
        }
        var notAfter: Timestamp?
        if let value = entry["notAfter"], !value.isNull {
            guard let moment = value.stringValue.flatMap(Timestamp.init(rfc3339:)) else {
                throw fail("notAfter must be an RFC 3339 time with an offset")
            }
            notAfter = moment
        }
        return ServiceCredential(id: id, digest: digest, scopes: scopes, notAfter: notAfter)
    }

    private static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122, UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: false
                }
            }
    }

    /// The credential a token proves, compared in constant time.
    package func credential(of token: String, now: Timestamp) -> ServiceCredential? {
        guard token.utf8.count <= 256, token.hasPrefix(Self.tokenPrefix) else { return nil }
        let rest = token.dropFirst(Self.tokenPrefix.count)
        guard let end = rest.firstIndex(of: "_"), let candidates = byID[String(rest[..<end])] else { return nil }
        let digest = SHA256.hash(token)
        var proven: ServiceCredential?
        // Every candidate is compared, whichever fits.
        for candidate in candidates where ConstantTime.equal(digest, candidate.digest) { proven = candidate }
        if let notAfter = proven?.notAfter, now >= notAfter { return nil }
        return proven
    }
}
