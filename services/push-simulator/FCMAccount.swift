import Kernel
import PushSimulator
import ServiceRuntime
import Signing

/// What the simulator needs of a service account's JSON: names, and the public half of its key.
enum FCMAccount {
    /// - Throws: a `ConfigError` naming the member that is missing or wrong.
    static func simulation(_ file: String, port: Int) throws -> FCMSimulation {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: try FileContents.bytes(file, limit: 65_536))
        } catch let error as JSONError {
            throw problem("is no JSON: \(error)")
        }
        func text(_ name: String) throws(ConfigError) -> String {
            guard let text = value[name]?.stringValue else { throw problem("\"\(name)\" is missing") }
            return text
        }
        let key: VerificationKey
        do {
            key = try SigningKey(pem: try text("private_key"), keyID: try text("private_key_id")).verificationKey
        } catch let error as SigningError {
            throw problem("\"private_key\": \(error)")
        }
        var simulation = FCMSimulation(
            projectID: try text("project_id"),
            clientEmail: try text("client_email"),
            key: key
        )
        simulation.port = port
        return simulation
    }

    private static func problem(_ text: String) -> ConfigError {
        ConfigError(
            name: "FCM_CREDENTIALS_FILE",
            problem: text,
            fix: "Name the service account's JSON file that the worker has."
        )
    }
}
