import Kernel
import NotificationContract
import Notifications
import Observability
import Producers
import Synchronization
import TestSupport
import Testing

struct ChosenTextTests {
    private struct Chooser: TextChooser {
        let body: @Sendable (TextOccasion) async throws -> String
        func choose(_ occasion: TextOccasion) async throws -> String { try await body(occasion) }
    }

    private struct Broken: Error {}

    private let catalog = Catalog(
        texts: [.english: ["m.a": "A", "m.b": "B", "m.tier": "Your {tierName}", "other": "Other"]],
        appName: "App"
    )

    /// - Parameter sleep: the deadline; never passes unless told otherwise.
    private func key(
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in try await Task.sleep(for: .seconds(600)) },
        _ body: @escaping @Sendable (TextOccasion) async throws -> String
    ) async throws -> String {
        let chosen = ChosenText(
            chooser: Chooser(body: body),
            catalog: catalog,
            template: "m.a",
            deadline: .seconds(2),
            telemetry: .silent(),
            sleep: sleep
        )
        let occasion = TextOccasion(
            userID: try #require(UserID("u")),
            category: CategoryID("mirror"),
            candidates: ["m.a", "m.b", "m.tier"]
        )
        return await chosen.key(for: occasion)
    }

    @Test func `a chooser picks among the texts that people wrote (P10)`() async throws {
        #expect(try await key { occasion in occasion.candidates[1] } == "m.b")
    }

    @Test(arguments: ["You wrote that you feel alone.", "other", "m.tier", ""])
    func `words of its own, another category's text and one with gaps are refused (P10)`(answer: String) async throws {
        #expect(try await key { _ in answer } == "m.a")
    }

    @Test func `a chooser that fails leaves the template`() async throws {
        #expect(try await key { _ in throw Broken() } == "m.a")
    }

    @Test func `a chooser that is late, and deaf to its cancellation, holds nobody up`() async throws {
        let release = AsyncStream.makeStream(of: Void.self)
        let key = try await key(sleep: { limit in #expect(limit == .seconds(2)) }) { _ in
            // Ends only when the test says so, whatever is cancelled.
            await Task.detached { for await _ in release.stream { return } }.value
            return "m.b"
        }
        #expect(key == "m.a")
        release.continuation.finish()
    }
}
