package import Notifications
package import PushTransport
package import RedisClient
package import ServiceRuntime
import Signing

/// How pushes reach Apple, from `APNS_…`.
package struct APNsSettings: Sendable {
    private let base: APNsConfiguration?
    private let sharesToken: Bool
    /// For devices that name no bundle id.
    package let topic: String
    /// For devices that do not say which of Apple's services their token belongs to.
    package let environment: PushEnvironment

    /// For a process that is of no use without a credential for Apple.
    package init(reading reader: ConfigReader) throws {
        try self.init(reading: reader, isRequired: true)
    }

    /// - Parameter isRequired: whether a process without any credential for Apple is of no use. One that is named by half is
    ///   refused in any case.
    package init(reading reader: ConfigReader, isRequired: Bool) throws {
        let isNamed = ["APNS_KEY_FILE", "APNS_KEY_ID", "APNS_TEAM_ID"].contains { reader.optionalString($0) != nil }
        var identity = reader.optionalFile("APNS_CERT_FILE").map(Identity.certificate)
        if identity == nil, isRequired || isNamed { identity = .key(KeyFile(reading: reader)) }
        let password = reader.optionalSecret("APNS_CERT_PASSWORD")
        topic = reader.string("APNS_TOPIC", "Set the app's bundle id.")
        environment = reader.choice("APNS_ENVIRONMENT", default: PushEnvironment.production)
        let host = reader.optionalString("APNS_HOST")
        let port = reader.int("APNS_PORT", default: 443, in: 1...65_535)
        let trustFile = reader.optionalFile("APNS_CA_FILE")
        let connections = reader.int("APNS_CONNECTIONS", default: 1, in: 1...32)
        let pace = reader.optionalInt("APNS_PACE", in: 1...100_000)
        sharesToken = reader.bool("APNS_SHARE_TOKEN", default: true)
        try reader.finish()
        let trust = try trustFile.map { String(decoding: try FileContents.bytes($0), as: UTF8.self) }
        var configuration: APNsConfiguration? =
            switch identity {
            case nil: nil
            case .certificate(let file):
                APNsConfiguration(
                    certificate: try Self.certificate(file, password),
                    host: host,
                    port: port,
                    trustedPEM: trust
                )
            case .key(let key):
                try APNsConfiguration(
                    key: try key.read(),
                    teamID: key.teamID,
                    host: host,
                    port: port,
                    trustedPEM: trust
                )
            }
        configuration?.connections = connections
        configuration?.pace = pace
        base = configuration
    }

    /// Whether there is a credential for Apple.
    package var isConfigured: Bool { base != nil }

    /// What a transport needs, `nil` without a credential; the provider token is shared through this Redis unless
    /// `APNS_SHARE_TOKEN` is off.
    package func configuration(sharing redis: RedisClient) -> APNsConfiguration? {
        var configuration = base
        if sharesToken { configuration?.vault = RedisTokenVault(redis: redis) }
        return configuration
    }

    private static func certificate(_ file: String, _ password: String?) throws -> ClientCertificate {
        do {
            return try ClientCertificate(file: try FileContents.bytes(file), password: password)
        } catch let error as SigningError {
            throw ConfigError(
                name: "APNS_CERT_FILE",
                problem: error.description,
                fix: "Name a .p12 or PEM file with the certificate and its key, and its password as APNS_CERT_PASSWORD."
            )
        }
    }

    private enum Identity {
        case certificate(file: String)
        case key(KeyFile)
    }

    /// The `.p8` of token authentication with its names.
    private struct KeyFile {
        let file: String
        let keyID: String
        let teamID: String

        init(reading reader: ConfigReader) {
            file = reader.file("APNS_KEY_FILE", "Name the .p8 key file from the Apple developer account.")
            keyID = reader.string("APNS_KEY_ID", "Set the key's id, ten characters.")
            teamID = reader.string("APNS_TEAM_ID", "Set the team's id, ten characters.")
            for (name, value) in [("APNS_KEY_ID", keyID), ("APNS_TEAM_ID", teamID)]
            where !value.isEmpty && value.count != 10 {
                reader.report(name, "is \(value.count) characters long", fix: "Apple's ids have ten characters.")
            }
        }

        func read() throws -> SigningKey {
            do {
                return try SigningKey(
                    pem: String(decoding: try FileContents.bytes(file), as: UTF8.self),
                    keyID: keyID
                )
            } catch let error as SigningError {
                throw ConfigError(
                    name: "APNS_KEY_FILE",
                    problem: "\(error)",
                    fix: "Use the .p8 file as Apple gave it."
                )
            }
        }
    }
}
