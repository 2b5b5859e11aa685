import Foundation
import Synchronization
import Testing
import VarselKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The example of docs/embedding.md with stand-ins for the phone.
struct EmbeddingTests {
    @Test func `the document's code is the code that is compiled here`() throws {
        let code = String(
            decoding: try Repository.data("Tests/VarselKitTests/Example/NotificationsExample.swift"),
            as: UTF8.self
        )
        let document = String(decoding: try Repository.data("docs/embedding.md"), as: UTF8.self)
        let begin = try #require(code.range(of: "// embedding: begin\n"))
        let end = try #require(code.range(of: "// embedding: end"))
        #expect(document.contains("```swift\n\(code[begin.upperBound..<end.lowerBound])```"))
    }

    @Test func `the example registers, swallows a reminder, opens a window and plans three of them`() async throws {
        let phone = Phone()
        let gateway = GatewayClient(
            baseURL: try #require(URL(string: "https://push.example")),
            exchange: phone,
            bearer: { "jwt" }
        )
        let notifications = await Notifications(gateway: gateway, store: phone, system: phone)
        await notifications.launched()
        await notifications.received(deviceToken: Data([1, 171]))
        await notifications.loggedIn(session: "s")
        let reminder = try Repository.push("reminder")
        let shown = await notifications.willPresent(reminder)
        #expect(shown == [])
        await notifications.foreground(Place(latitude: 59.9, longitude: 10.7))
        let pending = phone.pending
        // Three a day for 21 days, without those of today that are over: the example goes by the phone's clock.
        #expect((60...63).contains(pending.count))
        let name = try #require(pending.first).identifier.split(separator: ".").suffix(2).map(String.init)
        let window = WindowOccurrence(window: name[0], date: try #require(LocalDate(name[1])))
        await notifications.answered(window, actionID: ActionRegistry.tap)
        await notifications.loggedOut()
        let log = phone.log
        #expect(
            log == [
                "POST", "GET", "\(pending.count) added, 0 removed", "im://window?id=\(name[0])&date=\(name[1])",
                "DELETE",
            ]
        )
    }
}

/// Phone, store and network at once.
private final class Phone: NotificationSystem, AppStore, HTTPExchange {
    private struct State {
        var sync: TokenSync?
        var record: PlanRecord?
        var pending: [PendingRequest] = []
        var log: [String] = []
    }

    private let state = Mutex(State())
    let deviceID = "phone"
    let enabledWindows: Set<String> = ["morning", "midday", "evening"]
    let completedWindows: Set<WindowOccurrence> = []
    let wasExplained = true
    let permission = PushPermission.granted

    var log: [String] { state.withLock { $0.log } }
    var pending: [PendingRequest] { state.withLock { $0.pending } }
    var tokenSync: TokenSync? { state.withLock { $0.sync } }
    var planRecord: PlanRecord? { state.withLock { $0.record } }

    func show(actions: ActionRegistry) async {}
    func open(_ link: String) async { state.withLock { $0.log.append(link) } }
    func accessToken(of session: String?) async -> String? { session.map { "jwt-\($0)" } }
    func save(_ sync: TokenSync) async { state.withLock { $0.sync = sync } }
    func save(_ record: PlanRecord) async { state.withLock { $0.record = record } }
    func save(_ page: InboxPage) async {}

    func carryOut(_ plan: WindowPlan) async {
        state.withLock { state in
            state.log.append("\(plan.adds.count) added, \(plan.removes.count) removed")
            state.pending = plan.requests.map {
                PendingRequest(identifier: $0.identifier, fireDate: $0.fireDate, title: $0.title, body: $0.body)
            }
        }
    }

    func answer(to request: URLRequest) async throws -> HTTPAnswer {
        state.withLock { $0.log.append(request.httpMethod ?? "") }
        return HTTPAnswer(status: 200, body: Data(#"{"data":null}"#.utf8))
    }
}
