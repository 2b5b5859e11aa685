import GatewayAPI
import HTTPFetch
import Kernel
import Observability
import ServiceRuntime
import Signing

/// Who may call: keys and rules for access tokens, service credentials, the development token.
struct AccessSettings: Sendable {
    /// Shorter development tokens could be guessed.
    private static let developerTokenLength = 32

    let keys: [VerificationKey]
    let rules: JWTVerifier.Rules
    /// Where the issuer publishes its keys.
    let keySet: KeySet?
    let credentialsFile: String?
    let developerToken: String?

    init(reading reader: ConfigReader) throws {
        let files = reader.list("JWT_PUBLIC_KEY_FILE")
        let secret = reader.optionalSecret("JWT_HS256_SECRET", minimumLength: 32)
        let keySet = KeySet(reading: reader)
        let issuer = reader.string("JWT_ISSUER", "Set what the tokens' iss must be.")
        let audience = reader.string("JWT_AUDIENCE", "Set what the tokens' aud must be or hold.")
        let leeway = reader.duration("JWT_LEEWAY", default: .seconds(30), in: .zero ... .seconds(300))
        let type = reader.optionalString("JWT_TYPE")
        credentialsFile = reader.optionalFile("SERVICE_CREDENTIALS_FILE")
        developerToken = reader.optionalSecret("DEV_API_TOKEN", minimumLength: Self.developerTokenLength)
        if files.isEmpty && secret == nil && keySet == nil {
            reader.report(
                "JWT_PUBLIC_KEY_FILE",
                "not set",
                fix:
                    "Name the PEM file of the public key that verifies access tokens, or set JWT_JWKS_URL or JWT_HS256_SECRET_FILE."
            )
        }
        try reader.finish()
        var keys = try files.map(Self.key(from:))
        rules = JWTVerifier.Rules(issuer: issuer, audience: audience, leeway: leeway, requiredType: type)
        self.keySet = keySet
        do {
            if let secret { keys.append(try VerificationKey(secret: Array(secret.utf8))) }
            // Only to see that they make a set.
            _ = try JWTVerifier(keys: keys, rules: rules)
            self.keys = keys
        } catch {
            throw ConfigError(
                name: "JWT_PUBLIC_KEY_FILE",
                problem: error.description,
                fix: "With several keys, name each by its kid: 2026a=/path/a.pem,2026b=/path/b.pem."
            )
        }
    }

    /// The keys to verify with, once they are had.
    func tokenKeys(_ published: PublishedKeys?, clock: any WallClock, telemetry: Telemetry) throws -> TokenKeys {
        var fetch: (@Sendable () async throws -> TokenKeys.Published)?
        if let published { fetch = { try await published.get() } }
        return try TokenKeys(fixed: keys, rules: rules, clock: clock, telemetry: telemetry, fetch: fetch)
    }

    /// The service credentials of the file; without a file nobody has one.
    func credentialStore(telemetry: Telemetry) throws -> ServiceCredentialStore {
        let file = credentialsFile
        do {
            return try ServiceCredentialStore(telemetry: telemetry) {
                guard let file else { return Array("[]".utf8) }
                return try FileContents.bytes(file)
            }
        } catch let error as ServiceCredentials.FileError {
            throw ConfigError(
                name: "SERVICE_CREDENTIALS_FILE",
                problem: error.description,
                fix: "Write a JSON list of id, sha256, scopes and, where wanted, notAfter."
            )
        }
    }

    /// Reads `path` or `kid=path`.
    private static func key(from entry: String) throws(ConfigError) -> VerificationKey {
        let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
        let keyID = parts.count == 2 ? parts[0] : nil
        do {
            let pem = String(decoding: try FileContents.bytes(parts.last ?? entry), as: UTF8.self)
            return try VerificationKey(pem: pem, keyID: keyID)
        } catch {
            throw ConfigError(
                name: "JWT_PUBLIC_KEY_FILE",
                problem: "\(error)",
                fix: "Name a PEM file with a public key: EC P-256, RSA of 2,048 bits or more, or Ed25519."
            )
        }
    }
}

/// Where the issuer publishes its keys, and whom to believe on the way.
struct KeySet: Sendable {
    let url: String
    let allowsPrivate: Bool
    let authorityFile: String?

    /// - Returns: `nil` where no address is set; what is wrong is reported to the reader.
    init?(reading reader: ConfigReader) {
        let allowsPrivate = reader.bool("JWKS_ALLOW_PRIVATE", default: false)
        let authorityFile = reader.optionalFile("JWKS_CA_FILE")
        guard let url = reader.optionalString("JWT_JWKS_URL") else { return nil }
        if FetchURL(url)?.isPlain != false {
            reader.report("JWT_JWKS_URL", "no https address", fix: "Name the https address of the issuer's JWK set.")
        }
        self.url = url
        self.allowsPrivate = allowsPrivate
        self.authorityFile = authorityFile
    }

    func client(telemetry: Telemetry) throws -> PublishedKeys {
        let trusted = try authorityFile.map { String(decoding: try FileContents.bytes($0), as: UTF8.self) }
        return PublishedKeys(url: url, allowsPrivate: allowsPrivate, trustedPEM: trusted, telemetry: telemetry)
    }
}
