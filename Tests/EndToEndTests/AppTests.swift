import Foundation
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import PostgresClient
import PushSimulator
import Signing
import TestSupport
import Testing
import VarselKit

/// The library of the app against a gateway that runs.
struct AppTests {
    /// A gateway of the stage that is ready, and clients for its users.
    private struct Door {
        let process: ServiceProcess
        let url: URL
        let key: SigningKey

        func client(_ user: String) throws -> GatewayClient {
            let now = SystemWallClock().now
            let token = try JWTSigner.sign(
                claims: [
                    "sub": .string(user), "iss": "issuer", "aud": "varsel", "iat": .integer(now.seconds),
                    "exp": .integer((now + .seconds(600)).seconds),
                ],
                key: key
            )
            return GatewayClient(baseURL: url, bearer: { token })
        }
    }

    private func open(_ stage: Stage) async throws -> Door {
        let pair = try ECKey.generateP256()
        try pair.publicPEM.write(to: stage.folder.appending(path: "jwt.pem"), atomically: true, encoding: .utf8)
        for _ in 0..<5 {
            let port = Int.random(in: 20_000..<30_000)
            let process = try stage.start(
                "api-gateway",
                [
                    "GATEWAY_LISTEN": "127.0.0.1:\(port)", "METRICS_LISTEN": "127.0.0.1:\(port + 10_000)",
                    "JWT_PUBLIC_KEY_FILE": stage.folder.appending(path: "jwt.pem").path, "JWT_ISSUER": "issuer",
                    "JWT_AUDIENCE": "varsel",
                ]
            )
            let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
            let door = Door(process: process, url: url, key: try SigningKey(pem: pair.privatePEM))
            let probe = try door.client("probe")
            let isReady: Void? = try? await stage.eventually("the gateway answers") {
                guard process.isRunning else { throw StageError(description: "the gateway ended") }
                return (try? await probe.unreadCount()) != nil
            }
            if isReady != nil { return door }
            if process.isRunning {
                process.send(SIGKILL)
                _ = await process.ended()
            }
        }
        throw StageError(description: "no gateway became ready")
    }

    @Test func `an app registers, gets a push, reads its inbox, changes its settings and logs out (I3, G1-G6, G9)`()
        async throws
    {
        try await Stage.run { stage in
            let door = try await open(stage)
            let user = stage.user(1)
            let client = try door.client(user)
            let synchroniser = TokenSynchroniser(
                TokenSync(deviceID: "phone"),
                surroundings: TokenSynchroniser.Surroundings(
                    register: { device, _ in try await client.register(device) },
                    delete: { token, _ in try await client.unregister(token: token) },
                    save: { _ in }
                )
            )
            let token = String(repeating: "ab", count: 32)
            await synchroniser.handle(.launched(timezone: "Europe/Oslo", permission: .granted))
            await synchroniser.handle(.tokenChanged(token))
            await synchroniser.handle(.loggedIn(session: "s"))
            let registered = try await stage.token(of: user)
            #expect(registered == token)

            let receipt = try await stage.bus.enqueueNotification(stage.request(user, .lifecycle))
            try stage.startWorker()
            try await stage.queueAtRest()
            #expect(stage.simulator.acceptedCount == 1)
            let unread = try await client.unreadCount()
            #expect(unread == 1)
            let page = try await client.inbox()
            let item = try #require(page.list.first)
            #expect(item.id.uuidString.lowercased() == receipt.messageID.description)
            #expect(item.category == .lifecycle)
            #expect(page.pagination.total == 1)
            let read = try await client.mark(item.id, read: true)
            #expect(read.isRead)
            let left = try await client.markAllRead()
            #expect(left == 0)
            let missing = await #expect(throws: GatewayError.self) { try await client.mark(UUID(), read: true) }
            guard case .problem(let problem)? = missing else { throw StageError(description: "no problem") }
            #expect(problem.status == 404)
            #expect(problem.slug == "no-such-notification")

            let categories = try await client.categories(language: "nb")
            let before = try await client.preferences()
            #expect(before.timezone == "Europe/Oslo")
            #expect(before.permission == .granted)
            var model = SettingsModel(categories: categories, preferences: before, now: Date())
            #expect(model.rows.map(\.id) == [.reminder, .lifecycle, .campaign])
            let choice = model.set(.campaign, on: true)
            let update = try #require(choice)
            let after = try await client.change(update)
            #expect(after.switches[.campaign] == true)
            let quiet = try await client.beginSilence()
            #expect(SettingsModel(categories: categories, preferences: quiet, now: Date()).quietCard?.daysLeft == 7)
            let loud = try await client.endSilence()
            #expect(loud.silenceUntil == nil)

            let session = LiveActivitySession(streamID: "match-1", deviceID: "phone", token: token)
            try await client.register(session)
            let sessions = "live_activity_sessions WHERE user_id = '\(user)'"
            let running = try await stage.count(sessions)
            #expect(running == 1)
            try await client.endLiveActivity(streamID: "match-1", deviceID: "phone")
            let ended = try await stage.count(sessions)
            #expect(ended == 0)
            try await client.report(Activity(.impulse))
            let reports = try await stage.count("user_activity WHERE user_id = '\(user)'")
            #expect(reports == 1)

            await synchroniser.handle(.loggedOut)
            let devices = try await stage.count("devices WHERE invalidated_at IS NULL AND user_id = '\(user)'")
            #expect(devices == 0)
            door.process.send(SIGTERM)
            let code = await door.process.ended()
            #expect(code == 0)
        }
    }
}
