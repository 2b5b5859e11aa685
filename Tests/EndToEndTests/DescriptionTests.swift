import Foundation
import Kernel
import Signing
import Testing

/// The API's description judged by tools that nobody here wrote, and the gateway by its description.
struct DescriptionTests {
    private static let developerToken = String(repeating: "d", count: 32)

    /// A gateway process, and the address where it listens.
    private func startGateway(_ stage: Stage, _ extra: [String: String]) async throws -> String {
        let gateway = try stage.start("api-gateway", ["GATEWAY_LISTEN": "127.0.0.1:0"].merging(extra) { $1 })
        var port: Int64?
        try await stage.eventually("the gateway listens") {
            for line in gateway.output.split(separator: "\n") {
                let entry = try? JSONValue(parsing: String(line))
                if entry?["message"] == "listening" { port = entry?["port"]?.integerValue }
            }
            return port != nil
        }
        return "http://127.0.0.1:\(try #require(port))"
    }

    /// Credentials of every kind: settings for the gateway, and tokens for whoever calls it.
    private func credentials(_ stage: Stage) throws -> (settings: [String: String], tokens: [String: String]) {
        let key = try ECKey.generateP256()
        let publicKey = stage.folder.appendingPathComponent("jwt.pem")
        try key.publicPEM.write(to: publicKey, atomically: true, encoding: .utf8)
        let now = SystemWallClock().now.seconds
        let user = try JWTSigner.sign(
            claims: [
                "sub": "user-1", "iss": "issuer", "aud": "varsel", "iat": .integer(now), "exp": .integer(now + 3600),
            ],
            key: SigningKey(pem: key.privatePEM, keyID: nil)
        )
        let service = "vsk_all_\(Base64URL.encode(Array(repeating: 7, count: 32)))"
        let scopes = [
            "notifications:write", "notifications:literal", "notifications:cancel", "activity:write",
            "lifecycle:write", "live-activities:write", "pushes:raw", "explain:read", "users:erase",
            "campaigns:admin",
        ]
        let entry: JSONValue = [
            "id": "all", "sha256": .string(Hex.encode(SHA256.hash(service))),
            "scopes": .array(scopes.map(JSONValue.string)),
        ]
        let file = stage.folder.appendingPathComponent("services.json")
        try JSONValue.array([entry]).text.write(to: file, atomically: true, encoding: .utf8)
        return (
            [
                "JWT_PUBLIC_KEY_FILE": publicKey.path, "JWT_ISSUER": "issuer", "JWT_AUDIENCE": "varsel",
                "SERVICE_CREDENTIALS_FILE": file.path, "DEV_API_TOKEN": Self.developerToken,
                "GATEWAY_REGISTRATIONS_PER_MINUTE": "1000000",
            ],
            ["USER_TOKEN": user, "SERVICE_TOKEN": service, "DEV_API_TOKEN": Self.developerToken]
        )
    }

    @Test func `the description is valid OpenAPI, and a live gateway holds to it (G11)`() async throws {
        try await Stage.run { stage in
            let (settings, tokens) = try credentials(stage)
            let address = try await startGateway(stage, settings)
            let validator = try PythonPeer("openapi-spec-validator-0.9.0", program: "python")
            let verdict = try await validator.run("validate_openapi.py", ["\(address)/openapi.json"])
            #expect(verdict.contains("valid"))
            let report = try await PythonPeer("schemathesis-4.32.5", program: "schemathesis").run(
                [
                    "--config-file", PythonPeer.folder.appendingPathComponent("schemathesis.toml").path, "run",
                    "\(address)/openapi.json", "--phases", "examples,coverage,fuzzing,stateful", "--max-time", "30",
                    "--workers", "1", "--no-shrink", "--continue-on-failure", "--no-color", "--warnings", "off",
                ],
                environment: tokens,
                in: stage.folder
            )
            #expect(report.contains("No issues found"), "\(report.suffix(4000))")
        }
    }
}
