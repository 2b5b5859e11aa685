import Foundation
import FoundationNetworking
import Kernel
import Signing
import Testing

struct ConfigurationTests {
    @Test(arguments: ["delivery-worker", "api-gateway"])
    func `bad configuration is told in one message that names every problem, with exit code 78`(
        service: String
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = try ServiceProcess(
            service,
            environment: [
                "DATABASE_URL": "mysql://root:hunter2@db/x", "REDIS_URL": "rediss://cache:6379",
                "APNS_KEY_FILE": "/nowhere/key.p8", "APNS_KEY_ID": "short", "APNS_TOPIC": "app.example",
                "GLOBAL_WEEKLY_CAP": "many",
            ],
            folder: folder
        )
        let code = await process.ended()
        #expect(code == 78)
        let output = process.output
        for name in ["DATABASE_URL", "REDIS_URL", "APNS_KEY_FILE", "APNS_KEY_ID", "APNS_TEAM_ID", "GLOBAL_WEEKLY_CAP"] {
            #expect(output.contains(name), "\(name) is not named")
        }
        #expect(output.contains("stunnel"))
        #expect(!output.contains("hunter2"))
    }

    @Test(arguments: [
        (["FCM_PROJECT_ID": "x"], "FCM_PROJECT_ID"), (["FCM_HOST": "x"], "FCM_HOST"),
        (["FCM_TOKEN_COMMAND": "echo secret-word"], "FCM_PROJECT_ID"),
        (["FCM_TOKEN_COMMAND": "echo secret-word", "FCM_PROJECT_ID": "a/b"], "project id"),
        (["FCM_CREDENTIALS_FILE": "/nowhere.json"], "FCM_CREDENTIALS_FILE"),
        (["FCM_CREDENTIALS_FILE": "/etc/hostname"], "is no JSON"),
    ])
    func `an FCM that is set up by half is told so, with exit code 78 (A6)`(
        variables: [String: String],
        part: String
    ) async throws {
        try await Stage.run { stage in
            var environment = stage.environment()
            for name in environment.keys where name.hasPrefix("FCM_") { environment[name] = nil }
            environment.merge(variables) { $1 }
            let process = try ServiceProcess("delivery-worker", environment: environment, folder: stage.folder)
            let code = await process.ended()
            #expect(code == 78)
            let output = process.output
            #expect(output.contains(part), "\(output)")
            #expect(!output.contains("secret-word"))
        }
    }

    @Test func `a gateway starts without a credential for Apple, and says so where one is needed (G3)`() async throws {
        try await Stage.run { stage in
            var environment = stage.environment([
                "GATEWAY_LISTEN": "127.0.0.1:0", "JWT_HS256_SECRET": String(repeating: "s", count: 32),
                "JWT_ISSUER": "issuer", "JWT_AUDIENCE": "varsel",
            ])
            for name in environment.keys where name.hasPrefix("APNS_") && name != "APNS_TOPIC" {
                environment[name] = nil
            }
            let token = "vsk_shop_" + String(repeating: "a", count: 43)
            let credentials: JSONValue = [
                [
                    "id": "shop", "sha256": .string(Hex.encode(SHA256.hash(token))),
                    "scopes": ["live-activities:write"],
                ]
            ]
            let file = stage.folder.appendingPathComponent("credentials.json")
            try credentials.text.write(to: file, atomically: true, encoding: .utf8)
            environment["SERVICE_CREDENTIALS_FILE"] = file.path
            let process = try ServiceProcess("api-gateway", environment: environment, folder: stage.folder)
            defer { process.send(SIGKILL) }
            try await stage.eventually("the gateway listens") { Self.port(process) != nil }
            let port = try #require(Self.port(process))
            let url = try #require(URL(string: "http://127.0.0.1:\(port)/api/v1/live-activities/order-1/update"))
            var request = URLRequest(url: url, timeoutInterval: 10)
            request.httpMethod = "POST"
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(#"{"contentState":{}}"#.utf8)
            let (data, response) = try await URLSession.shared.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 503)
            #expect(String(decoding: data, as: UTF8.self).contains("push-not-configured"))
        }
    }

    /// The port that a gateway says it listens on.
    private static func port(_ process: ServiceProcess) -> Int? {
        for line in process.output.split(separator: "\n") where line.contains("\"listening\"") {
            if let value = try? JSONValue(parsing: Array(line.utf8)), let port = value["port"]?.integerValue {
                return Int(port)
            }
        }
        return nil
    }
}
