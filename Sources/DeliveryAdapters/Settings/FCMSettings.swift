package import PushTransport
package import ServiceRuntime

/// How pushes reach Firebase Cloud Messaging, from `FCM_…`. Without a credential devices of that service are not reached.
package struct FCMSettings: Sendable {
    /// `nil` when FCM is not set up.
    package let configuration: FCMConfiguration?

    package init(reading reader: ConfigReader) throws {
        let account = reader.optionalFile("FCM_CREDENTIALS_FILE")
        // A command line may hold a secret, so it is not shown.
        let command = reader.optional(
            "FCM_TOKEN_COMMAND",
            "Name a command that prints an access token.",
            isSecret: true
        ) {
            $0
        }
        let projectID = reader.optional("FCM_PROJECT_ID", "Set the Firebase project's id.") { text in
            try ServiceAccount.checkProject(text)
            return text
        }
        let host = reader.optionalString("FCM_HOST")
        let port = reader.int("FCM_PORT", default: 443, in: 1...65_535)
        let trustFile = reader.optionalFile("FCM_CA_FILE")
        let rate = reader.int("FCM_MESSAGES_PER_MINUTE", default: 600_000, in: 240...10_000_000)
        if account != nil, command != nil {
            reader.report("FCM_TOKEN_COMMAND", "is set beside FCM_CREDENTIALS_FILE", fix: "Set one of the two.")
        }
        if account == nil, command == nil {
            let stray = ["FCM_PROJECT_ID": projectID, "FCM_HOST": host, "FCM_CA_FILE": trustFile]
            for (name, value) in stray.sorted(by: { $0.key < $1.key }) where value != nil {
                reader.report(
                    name,
                    "is set, but neither FCM_CREDENTIALS_FILE nor FCM_TOKEN_COMMAND is",
                    fix: "Name the service account's JSON file, or leave every FCM_ variable out."
                )
            }
        }
        if command != nil, projectID == nil {
            reader.report("FCM_PROJECT_ID", "not set", fix: "Set the project's id: a command does not tell it.")
        }
        try reader.finish()
        var configuration: FCMConfiguration?
        if let account {
            let read = try Self.serviceAccount(account)
            configuration = FCMConfiguration(
                credential: .serviceAccount(read),
                projectID: projectID ?? read.projectID
            )
        } else if let command, let projectID {
            configuration = FCMConfiguration(credential: .command(TokenCommand(command)), projectID: projectID)
        }
        if let host { configuration?.host = host }
        configuration?.port = port
        configuration?.messagesPerMinute = rate
        configuration?.trustedPEM = try trustFile.map { String(decoding: try FileContents.bytes($0), as: UTF8.self) }
        self.configuration = configuration
    }

    private static func serviceAccount(_ file: String) throws -> ServiceAccount {
        let bytes = try FileContents.bytes(file, limit: 65_536)
        do {
            return try ServiceAccount(json: bytes)
        } catch {
            throw ConfigError(
                name: "FCM_CREDENTIALS_FILE",
                problem: "\(error)",
                fix: "Name the service account's JSON file as Google gave it."
            )
        }
    }
}
