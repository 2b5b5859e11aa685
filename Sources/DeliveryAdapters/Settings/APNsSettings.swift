package import Notifications
package import PushTransport
package import ServiceRuntime
import Signing

/// How pushes reach Apple, from `APNS_…`.
package struct APNsSettings: Sendable {
    package let configuration: APNsConfiguration
    /// For devices that name no bundle id.
    package let topic: String
    /// For devices that do not say which of Apple's services their token belongs to.
    package let environment: PushEnvironment

    package init(reading reader: ConfigReader) throws {
        let keyFile = reader.file("APNS_KEY_FILE", "Name the .p8 key file from the Apple developer account.")
        let keyID = reader.string("APNS_KEY_ID", "Set the key's id, ten characters.")
        let teamID = reader.string("APNS_TEAM_ID", "Set the team's id, ten characters.")
        topic = reader.string("APNS_TOPIC", "Set the app's bundle id.")
        environment = reader.choice("APNS_ENVIRONMENT", default: PushEnvironment.production)
        let host = reader.optionalString("APNS_HOST")
        let port = reader.int("APNS_PORT", default: 443, in: 1...65_535)
        let trustFile = reader.optionalFile("APNS_CA_FILE")
        for (name, value) in [("APNS_KEY_ID", keyID), ("APNS_TEAM_ID", teamID)]
        where !value.isEmpty && value.count != 10 {
            reader.report(name, "is \(value.count) characters long", fix: "Apple's ids have ten characters.")
        }
        try reader.finish()
        let pem = String(decoding: try FileContents.bytes(keyFile), as: UTF8.self)
        let key: SigningKey
        do {
            key = try SigningKey(pem: pem, keyID: keyID)
        } catch {
            throw ConfigError(name: "APNS_KEY_FILE", problem: "\(error)", fix: "Use the .p8 file as Apple gave it.")
        }
        configuration = try APNsConfiguration(
            key: key,
            teamID: teamID,
            host: host,
            port: port,
            trustedPEM: try trustFile.map { String(decoding: try FileContents.bytes($0), as: UTF8.self) }
        )
    }
}
