import Signing

/// Closes provider tokens for the vault: AES-256-GCM under a key derived from the `.p8`, so that only those who could sign a
/// token can read one. Team and key are bound in, so that a token cannot be passed off as another's.
struct ProviderTokenSeal: Sendable {
    /// What the vault calls this team and key.
    let name: String
    private let secret: [UInt8]

    init(key: SigningKey, teamID: String) {
        name = "\(teamID)-\(key.keyID ?? "")"
        secret = key.derivedSecret(label: "varsel provider token")
    }

    func seal(_ header: String) throws(SigningError) -> [UInt8] {
        try AES256GCM.seal(Array(header.utf8), key: secret, additional: Array(name.utf8))
    }

    /// - Throws: `operationFailed` for bytes that were sealed with another key, for another team, or changed.
    func open(_ sealed: [UInt8]) throws(SigningError) -> String {
        let header = try AES256GCM.open(sealed, key: secret, additional: Array(name.utf8))
        return String(decoding: header, as: UTF8.self)
    }
}
