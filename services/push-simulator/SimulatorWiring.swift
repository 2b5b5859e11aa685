import Kernel
import Observability
import PushSimulator
import ServiceRuntime
import Signing

/// Builds the simulator from its settings and says where it listens.
struct SimulatorWiring: Sendable {
    private let simulator: PushSimulator

    init(_ config: SimulatorConfig, telemetry: Telemetry) async throws {
        var configuration = SimulatorConfiguration(
            identity: try Self.identity(config),
            credentials: [.init(key: try Self.verificationKey(config), teamID: config.teamID)],
            topics: Set(config.topics)
        )
        configuration.host = config.listen.host
        configuration.port = config.listen.port
        configuration.controlHost = config.control.host
        configuration.controlPort = config.control.port
        configuration.recordLimit = config.recordLimit
        configuration.fcm = try config.fcmCredentials.map { try FCMAccount.simulation($0, port: config.fcmPort) }
        simulator = try await PushSimulator.start(configuration, telemetry: telemetry)
        var members = [
            JSONMember("port", .integer(simulator.port)), JSONMember("controlPort", .integer(simulator.controlPort)),
        ]
        if let port = simulator.fcmPort { members.append(JSONMember("fcmPort", .integer(port))) }
        let ports = JSONValue.object(members)
        if let file = config.portFile {
            try NewFile.write(ports.utf8, to: file, mode: 0o644, setting: "SIMULATOR_PORT_FILE")
        }
        telemetry.logger.info(
            "simulator listening",
            ["port": .integer(simulator.port), "controlPort": .integer(simulator.controlPort)]
        )
    }

    func close() async {
        await simulator.stop()
    }

    private static func verificationKey(_ config: SimulatorConfig) throws(ConfigError) -> VerificationKey {
        let setting = config.privateKeyFile == nil ? "APNS_PUBLIC_KEY_FILE" : "APNS_KEY_FILE"
        do {
            if let file = config.privateKeyFile {
                return try SigningKey(pem: text(of: file), keyID: config.keyID).verificationKey
            }
            return try VerificationKey(pem: text(of: config.publicKeyFile ?? ""), keyID: config.keyID)
        } catch {
            throw ConfigError(name: setting, problem: String(describing: error), fix: "Name a P-256 key in PEM.")
        }
    }

    /// The certificate and key of the files, made when both are missing.
    private static func identity(_ config: SimulatorConfig) throws -> SimulatorConfiguration.Identity {
        if !NewFile.exists(config.certificateFile), !NewFile.exists(config.keyFile) {
            let hosts = Set(["localhost", "127.0.0.1", "::1", config.listen.host]).subtracting(["0.0.0.0", "::"])
            let made = try SelfSigned.make(
                hosts: hosts.sorted(),
                validFor: .seconds(3650 * 86_400),
                now: SystemWallClock().now
            )
            // The key first: a certificate without its key would never be replaced.
            try NewFile.write(Array(made.keyPEM.utf8), to: config.keyFile, mode: 0o600, setting: "SIMULATOR_KEY_FILE")
            try NewFile.write(
                Array(made.certificatePEM.utf8),
                to: config.certificateFile,
                mode: 0o644,
                setting: "SIMULATOR_CERT_FILE"
            )
        }
        return .init(certificatePEM: try text(of: config.certificateFile), keyPEM: try text(of: config.keyFile))
    }

    private static func text(of file: String) throws -> String {
        String(decoding: try FileContents.bytes(file), as: UTF8.self)
    }
}
