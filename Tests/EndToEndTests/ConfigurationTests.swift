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
}
