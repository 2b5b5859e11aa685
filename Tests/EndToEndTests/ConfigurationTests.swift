import Foundation
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
}
