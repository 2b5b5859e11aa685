import Foundation
import HTTPFetch
import Kernel
import PostgresClient
import PushSimulator
import TestSupport
import Testing

/// Tokens and credentials go through every process, and into the log of none.
struct LogSecrecyTests {
    private static let devices = "/api/v1/notifications/device-token"

    @Test func `no process writes a whole token or credential into its log, at any level (G11, A3)`() async throws {
        try await Stage.run { stage in
            let level = ["LOG_LEVEL": "debug"]
            let gateway = try await StageGateway.start(stage, level)
            for service in ["delivery-worker", "campaign-producer", "lifecycle-producer"] {
                try stage.start(service, level)
            }
            // Of a phone that is there, one that dies, one of nobody, and one that is not registered.
            let tokens = (1...4).map { number in String(repeating: "c0ffee\(number)\(number)", count: 8) }
            for (number, token) in tokens.prefix(2).enumerated() {
                let body: JSONValue = ["token": .string(token), "deviceId": .string("phone-\(number)")]
                let answer = try await gateway.send(.post, Self.devices, bearer: gateway.userToken, body)
                #expect(answer.status == 200)
            }
            try await gateway.send(.post, Self.devices, ["token": .string(tokens[2])])
            try await gateway.send(.get, Self.devices + "/" + tokens[3], bearer: gateway.userToken)
            try await gateway.send(.get, Self.devices + "/" + tokens[3] + "/more", bearer: gateway.userToken)
            try await gateway.send(
                .post,
                Self.devices,
                bearer: gateway.userToken,
                ["token": .string(tokens[3] + "\u{1}")]
            )
            let session: JSONValue = [
                "streamId": "order-1", "deviceId": "phone-0", "liveActivityToken": .string(tokens[0]),
            ]
            try await gateway.send(
                .post,
                "/api/v1/notifications/live-activity-sessions",
                bearer: gateway.userToken,
                session
            )
            stage.simulator.addFault(
                FaultRule(
                    .refuse(status: 410, reason: "Unregistered", timestamp: nil, retryAfter: nil),
                    token: tokens[1]
                )
            )
            let order: JSONValue = ["userId": "user-1", "category": "lifecycle", "body": "Hello"]
            let sent = try await gateway.send(.post, "/api/v1/notifications", bearer: gateway.serviceToken, order)
            #expect(sent.status == 202)
            try await stage.eventually("it is sent, and the dead token is gone") {
                try await stage.count("notification_events WHERE kind = 'token_invalidated'") == 1
            }
            let ping: JSONValue = ["userId": "user-1"]
            try await gateway.send(
                .post,
                "/api/v1/notifications/dev/ping",
                developer: gateway.developerToken,
                ping
            )
            // Credentials that do not hold, or stand where they must not.
            let broken = gateway.userToken.dropLast(3) + "AAA"
            try await gateway.send(.get, "/api/v2/notifications", bearer: String(broken))
            try await gateway.send(
                .get,
                "/api/v2/notifications?token=\(gateway.userToken)",
                bearer: gateway.serviceToken
            )
            try await gateway.send(.get, "/api/v2/\(gateway.serviceToken)", bearer: gateway.serviceToken + "x")
            try await gateway.send(
                .post,
                "/api/v1/notifications/dev/ping",
                developer: gateway.developerToken + "x",
                ping
            )

            let secrets =
                tokens + [
                    gateway.userToken, String(broken), gateway.serviceToken, gateway.developerToken, "PRIVATE KEY",
                ]
            let logs = try FileManager.default.contentsOfDirectory(at: stage.folder, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "log" }
            #expect(logs.count == 4)
            for log in logs {
                let text = try String(contentsOf: log, encoding: .utf8)
                #expect(!text.isEmpty, "\(log.lastPathComponent)")
                for secret in secrets {
                    #expect(!text.contains(secret), "\(log.lastPathComponent) holds \(secret.prefix(12))…")
                }
            }
            // The first digits are there: that is how an operator finds a device.
            let events = try await stage.count("notification_events WHERE device LIKE '%c0ffee22…'")
            #expect(events > 0)
        }
    }
}
