import Foundation
import NotificationContract
import Synchronization
import Testing
import VarselKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Answers from a list and notes what was asked.
private final class Script: HTTPExchange {
    private struct State {
        var answers: [HTTPAnswer?]
        var asked: [URLRequest] = []
    }

    private let state: Mutex<State>

    /// - Parameter answers: `nil` for none at all.
    init(_ answers: [HTTPAnswer?]) { state = Mutex(State(answers: answers)) }

    var asked: [URLRequest] { state.withLock { $0.asked } }

    func answer(to request: URLRequest) async throws -> HTTPAnswer {
        let answer = state.withLock { state -> HTTPAnswer? in
            state.asked.append(request)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        guard let answer else { throw URLError(.notConnectedToInternet) }
        return answer
    }
}

private final class Waits: Sendable {
    private let list = Mutex<[TimeInterval]>([])
    var all: [TimeInterval] { list.withLock { $0 } }
    func add(_ wait: TimeInterval) { list.withLock { $0.append(wait) } }
}

private final class Saved: Sendable {
    private let sync = Mutex<TokenSync?>(nil)
    var last: TokenSync? { sync.withLock { $0 } }
    func set(_ value: TokenSync) { sync.withLock { $0 = value } }
}

struct GatewayClientTests {
    private let id = UUID(uuidString: "01A230F0-89C0-7102-8304-05060708090A") ?? UUID()

    private func client(_ script: Script, _ waits: Waits = Waits(), bearer: String? = "jwt") throws -> GatewayClient {
        GatewayClient(
            baseURL: try #require(URL(string: "https://push.example/base/")),
            exchange: script,
            bearer: { bearer },
            sleep: { waits.add($0) },
            now: { Date(timeIntervalSince1970: 1_796_083_200) }
        )
    }

    private func json(_ text: String, status: Int = 200, _ headers: [String: String] = [:]) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: headers, body: Data(text.utf8))
    }

    @Test func `a device registers with what it has, with or without a bearer (G1)`() async throws {
        let script = Script([json(#"{"data":null}"#), json(#"{"data":null}"#)])
        let device = DeviceRegistration(token: "ab", deviceID: "phone", timezone: "Europe/Oslo", permission: .granted)
        try await client(script).register(device)
        try await client(script, bearer: nil).register(device)
        let first = try #require(script.asked.first)
        #expect(first.url?.absoluteString == "https://push.example/base/api/v1/notifications/device-token")
        #expect(first.httpMethod == "POST")
        #expect(first.value(forHTTPHeaderField: "Authorization") == "Bearer jwt")
        let body = try JSONDecoder().decode([String: String].self, from: try #require(first.httpBody))
        #expect(
            body == [
                "token": "ab", "deviceId": "phone", "platform": "ios", "timezone": "Europe/Oslo",
                "permissionStatus": "granted",
            ]
        )
        #expect(script.asked.last?.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test func `what stands in a path cannot reach beyond it (G2, G3)`() async throws {
        let script = Script([HTTPAnswer(status: 204), HTTPAnswer(status: 204)])
        try await client(script).unregister(token: "a/b:c?d")
        try await client(script).endLiveActivity(streamID: "s", deviceID: "Ola's phone")
        #expect(script.asked[0].url?.absoluteString.hasSuffix("/device-token/a%2Fb%3Ac%3Fd") == true)
        #expect(script.asked[1].url?.absoluteString.hasSuffix("/live-activity-sessions/s/Ola%27s%20phone") == true)
    }

    @Test func `a page of the inbox is read, with what is unknown in it (G4)`() async throws {
        let script = Script([
            json(
                """
                {"data":{"list":[{"id":"01a230f0-89c0-7102-8304-05060708090a","category":"weather","title":"T","body":"B",
                "deeplinkUrl":"im://x","metadata":{"a":[1]},"isRead":true,"readAt":"2026-12-01T09:30:00Z",
                "createdAt":"2026-12-01T09:00:00.250Z"}],"pagination":{"page":2,"limit":1,"total":3,"totalPages":3,"hasNext":true}}}
                """
            )
        ])
        let page = try await client(script).inbox(page: 2, limit: 1)
        #expect(script.asked.first?.url?.query == "page=2&limit=1")
        #expect(page.pagination.hasNext)
        let item = try #require(page.list.first)
        #expect(item.id == id)
        #expect(item.category == CategoryID("weather"))
        #expect(abs(item.createdAt.timeIntervalSince1970 - 1_796_115_600.25) < 0.001)
    }

    @Test func `a problem is an error with all it says`() async throws {
        let script = Script([
            json(
                """
                {"type":"urn:varsel:problem:unacceptable","title":"Unprocessable","status":422,"detail":"d","pointer":"/a",
                "errors":[{"pointer":"/a","detail":"x"},{"pointer":"/b","detail":"y"}],"requestId":"r1"}
                """,
                status: 422
            )
        ])
        let error = await #expect(throws: GatewayError.self) { try await client(script).preferences() }
        guard case .problem(let problem)? = error else { return #expect(Bool(false)) }
        #expect(problem.slug == "unacceptable")
        #expect(problem.faults.map(\.pointer) == ["/a", "/b"])
        #expect(problem.requestID == "r1")
        #expect(script.asked.count == 1, "a refusal is not repeated")
        #expect(error?.syncFailure == .refused)
    }

    @Test func `what may be repeated is, as Retry-After says (I3)`() async throws {
        let waits = Waits()
        let script = Script([json("", status: 503, ["Retry-After": "7"]), nil, json(#"{"data":{"count":4}}"#)])
        let count = try await client(script, waits).unreadCount()
        #expect(count == 4)
        #expect(waits.all == [7, 1])
        let dated = Waits()
        let date = json("", status: 503, ["Retry-After": "Tue, 01 Dec 2026 00:00:09 GMT"])
        _ = try await client(Script([date, json(#"{"data":{"count":4}}"#)]), dated).unreadCount()
        #expect(dated.all == [9], "by the client's own clock")
        let away = Script([nil, nil, nil, json(#"{"data":{"count":4}}"#)])
        await #expect(throws: GatewayError.self) { try await client(away).unreadCount() }
        #expect(away.asked.count == 3)
    }

    @Test func `a long Retry-After is the caller's to decide (I3)`() async throws {
        let script = Script([json("", status: 429, ["Retry-After": "600"])])
        let error = await #expect(throws: GatewayError.self) { try await client(script).unreadCount() }
        #expect(error?.retryAfter == 600)
        #expect(error?.syncFailure == .temporary(retryAfter: 600))
        #expect(script.asked.count == 1)
    }

    @Test func `what would happen twice is sent once (I3)`() async throws {
        for call in 0..<2 {
            let script = Script([nil, json(#"{"data":{}}"#)])
            let client = try client(script)
            await #expect(throws: GatewayError.self) {
                if call == 0 { try await client.report(Activity(.entry)) } else { _ = try await client.beginSilence() }
            }
            #expect(script.asked.count == 1)
        }
    }

    @Test func `without a user nothing is asked that needs one`() async throws {
        let script = Script([])
        await #expect(throws: GatewayError.signedOut) { try await client(script, bearer: nil).unreadCount() }
        #expect(script.asked.isEmpty)
    }

    @Test func `the synchroniser keeps its state, registers and deletes (I3)`() async throws {
        let script = Script([json(#"{"data":null}"#), HTTPAnswer(status: 204)])
        let client = try client(script)
        let saved = Saved()
        let synchroniser = TokenSynchroniser(
            TokenSync(deviceID: "phone"),
            surroundings: TokenSynchroniser.Surroundings(
                register: { device, _ in try await client.register(device) },
                delete: { token, _ in try await client.unregister(token: token) },
                save: { sync in saved.set(sync) }
            )
        )
        await synchroniser.handle(.launched(timezone: "Europe/Oslo", permission: .granted))
        await synchroniser.handle(.tokenChanged("t1"))
        await synchroniser.handle(.loggedIn(session: "s"))
        await synchroniser.handle(.loggedOut)
        #expect(script.asked.map(\.httpMethod) == ["POST", "DELETE"])
        #expect(saved.last?.isSettled == true)
    }
}
