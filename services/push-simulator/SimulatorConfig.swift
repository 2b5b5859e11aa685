import ServiceRuntime

/// The settings of the simulator, from environment variables; README.md explains each one.
struct SimulatorConfig: Sendable {
    let listen: ListenAddress
    let control: ListenAddress
    let certificateFile: String
    let keyFile: String
    let portFile: String?
    /// The provider's own `.p8`, of which only the public half is used.
    let privateKeyFile: String?
    let publicKeyFile: String?
    let keyID: String
    let teamID: String
    let topics: [String]
    let recordLimit: Int
    /// The service account whose project is played; `nil` for Apple alone.
    let fcmCredentials: String?
    let fcmPort: Int

    init(reading reader: ConfigReader) {
        listen = reader.listenAddress("SIMULATOR_LISTEN", default: ListenAddress(host: "127.0.0.1", port: 2197))
        control = reader.listenAddress(
            "SIMULATOR_CONTROL_LISTEN",
            default: ListenAddress(host: "127.0.0.1", port: 2198)
        )
        certificateFile = reader.string(
            "SIMULATOR_CERT_FILE",
            "Name the PEM file of the certificate; it is made when it and the key are missing."
        )
        keyFile = reader.string("SIMULATOR_KEY_FILE", "Name the PEM file of the certificate's private key.")
        portFile = reader.optionalString("SIMULATOR_PORT_FILE")
        privateKeyFile = reader.optionalFile("APNS_KEY_FILE")
        publicKeyFile = reader.optionalFile("APNS_PUBLIC_KEY_FILE")
        keyID = reader.string("APNS_KEY_ID", "Set the key id that providers write into their tokens.")
        teamID = reader.string("APNS_TEAM_ID", "Set the team id that providers write into their tokens.")
        topics = reader.list("APNS_TOPIC")
        fcmCredentials = reader.optionalFile("FCM_CREDENTIALS_FILE")
        fcmPort = reader.int("SIMULATOR_FCM_PORT", default: 0, in: 0...65_535)
        recordLimit = reader.int("SIMULATOR_RECORD_LIMIT", default: 100_000, in: 0...5_000_000)
        if (privateKeyFile == nil) == (publicKeyFile == nil) {
            reader.report(
                "APNS_PUBLIC_KEY_FILE",
                privateKeyFile == nil ? "neither it nor APNS_KEY_FILE is set" : "is set beside APNS_KEY_FILE",
                fix: "Name the provider's public key, or its .p8 file as APNS_KEY_FILE."
            )
        }
    }
}
