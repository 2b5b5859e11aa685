import HTTPFetch
package import Kernel
package import Observability
package import ServiceRuntime
package import Signing

/// What is known of the app in the App Store, from `APPSTORE_…`. Without a root certificate nothing of the store is accepted, and
/// its routes do not exist.
package struct AppStoreSettings: Sendable {
    /// How Apple's server is asked.
    package struct ServerAPI: Sendable {
        package let key: SigningKey
        package let issuerID: String
        package let baseURL: String
    }

    private let roots: [X509Certificate]
    private let appAppleID: Int64?
    private let asksRevocation: Bool
    private let revocationHosts: Set<String>
    package let bundleID: String
    package let serverAPI: ServerAPI?

    /// Whether the store is set up.
    package var isEnabled: Bool { !roots.isEmpty }

    /// Reads the variables; to be used within `ConfigReader.part`.
    package init(reading reader: ConfigReader) throws {
        let rootFile = reader.optionalFile("APPSTORE_ROOT_CA_FILE")
        bundleID = reader.optionalString("APPSTORE_BUNDLE_ID") ?? ""
        appAppleID = reader.optionalInt("APPSTORE_APP_ID", in: 1...Int.max).map { Int64($0) }
        asksRevocation = reader.bool("APPSTORE_OCSP", default: false)
        revocationHosts = Set(reader.list("OCSP_HOSTS", default: ["ocsp.apple.com"]).map { $0.lowercased() })
        let keyFile = reader.optionalFile("APPSTORE_KEY_FILE")
        let keyID = reader.optionalString("APPSTORE_KEY_ID")
        let issuerID = reader.optionalString("APPSTORE_ISSUER_ID")
        let url = reader.optionalURL("APPSTORE_API_URL", schemes: ["https", "http"])
        if rootFile != nil, bundleID.isEmpty {
            reader.report("APPSTORE_BUNDLE_ID", "not set", fix: "Set the app's bundle id, such as com.example.app.")
        }
        if keyFile != nil {
            for (name, value) in [("APPSTORE_KEY_ID", keyID), ("APPSTORE_ISSUER_ID", issuerID)] where value == nil {
                reader.report(name, "not set", fix: "App Store Connect shows it beside the key.")
            }
            if rootFile == nil {
                reader.report(
                    "APPSTORE_ROOT_CA_FILE",
                    "not set",
                    fix: "Name Apple's root certificate: what the server answers is verified with it."
                )
            }
        }
        try reader.finish()
        roots = try rootFile.map(Self.certificates) ?? []
        if let keyFile, let keyID, let issuerID {
            serverAPI = ServerAPI(
                key: try Self.key(keyFile, keyID),
                issuerID: issuerID,
                baseURL: url ?? "https://api.storekit.apple.com"
            )
        } else {
            serverAPI = nil
        }
    }

    /// The verifier, `nil` where the store is not set up.
    /// - Throws: `ConfigError` for roots that cannot vouch for anything.
    package func verifier(clock: any WallClock, telemetry: Telemetry) throws -> AppStoreVerifier? {
        guard isEnabled else { return nil }
        let chains: ChainVerifier
        do {
            chains = try ChainVerifier(roots: roots, rules: .appStore)
        } catch {
            throw Self.rootError(error.description)
        }
        let revocation =
            asksRevocation
            ? RevocationClient(
                fetch: HTTPFetch(options: RevocationClient.options, telemetry: telemetry),
                hosts: revocationHosts
            ) : nil
        return AppStoreVerifier(
            signed: SignedDataVerifier(chains: chains, revocation: revocation, clock: clock),
            bundleID: bundleID,
            appAppleID: appAppleID
        )
    }

    private static func certificates(_ file: String) throws -> [X509Certificate] {
        do {
            return try X509Certificate.all(in: try FileContents.bytes(file))
        } catch let error as SigningError {
            throw rootError(error.description)
        }
    }

    private static func rootError(_ problem: String) -> ConfigError {
        ConfigError(
            name: "APPSTORE_ROOT_CA_FILE",
            problem: problem,
            fix: "Name a PEM or DER file with Apple Root CA - G3, from https://www.apple.com/certificateauthority/."
        )
    }

    private static func key(_ file: String, _ keyID: String) throws -> SigningKey {
        let key: SigningKey
        do {
            key = try SigningKey(pem: String(decoding: try FileContents.bytes(file), as: UTF8.self), keyID: keyID)
        } catch let error as SigningError {
            throw keyError(error.description)
        }
        guard key.algorithm == .es256 else { throw keyError("holds no key on curve P-256") }
        return key
    }

    private static func keyError(_ problem: String) -> ConfigError {
        ConfigError(
            name: "APPSTORE_KEY_FILE",
            problem: problem,
            fix: "Use the .p8 file of an In-App Purchase key as App Store Connect gave it."
        )
    }
}

extension ProductTiers {
    /// Reads the file named by `PRODUCT_TIERS_FILE`; without one every product is a subscription and nothing more.
    package init(reading reader: ConfigReader) throws {
        let file = reader.optionalFile("PRODUCT_TIERS_FILE")
        try reader.finish()
        guard let file else {
            self = .none
            return
        }
        do {
            try self.init(file: try FileContents.bytes(file))
        } catch let error as FileError {
            throw ConfigError(
                name: "PRODUCT_TIERS_FILE",
                problem: error.description,
                fix: "Write a JSON object from product id to a name, or to names by language."
            )
        }
    }
}
