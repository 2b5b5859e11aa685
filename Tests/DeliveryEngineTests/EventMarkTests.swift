import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Testing

@testable import DeliveryEngine

/// What every event of a message says of its words (P10).
struct EventMarkTests {
    private func event(isForeign: Bool, detail: JSONValue? = nil) throws -> DeliveryEvent {
        let now = Timestamp(milliseconds: 1_796_083_200_000)
        return try ParsedJob.example(.lifecycle, at: now, hasForeignWords: isForeign)
            .event(.sent, at: now, detail: detail)
    }

    @Test func `events of words that nobody vouches for are marked literal, others are not (P10)`() throws {
        #expect(try event(isForeign: true).detail == ["literal": true])
        #expect(
            try event(isForeign: true, detail: ["sendMilliseconds": 3]).detail == [
                "sendMilliseconds": 3, "literal": true,
            ]
        )
        #expect(try event(isForeign: false).detail == nil)
        #expect(try event(isForeign: false, detail: ["sendMilliseconds": 3]).detail == ["sendMilliseconds": 3])
    }
}

/// Which jobs the intake takes for this platform's own.
struct JobIntakeTests {
    private let now = Timestamp(milliseconds: 1_796_083_200_000)
    private let voucher = JobVoucher { message in
        (0..<32).map { index in message.reduce(UInt8(index)) { $0 &* 31 &+ $1 } }
    }

    private func read(_ data: String, acceptsLiteralText: Bool) -> JobIntake.Reading {
        let catalog = Catalog(texts: [.english: ["lifecycle.x": "Hello"]], appName: "App")
        let intake = JobIntake(
            registry: .standard,
            parser: NotificationParser(registry: .standard, catalog: catalog, deeplinkSchemes: ["im"]),
            identity: MessageIdentity(prefix: "p", queue: "q") { $0 + Array(repeating: 0, count: 32) },
            claimLimit: 100,
            acceptsLiteralText: acceptsLiteralText,
            voucher: voucher
        )
        let job = LeasedJob(
            id: "1",
            token: "t",
            data: data,
            timestamp: now,
            delay: .zero,
            attemptsStarted: 1,
            attemptsLimit: nil,
            deferredFailure: nil
        )
        return intake.read(job, now: now)
    }

    /// `nil` for a job that was refused.
    private func isForeign(_ data: String, acceptsLiteralText: Bool = true) -> Bool? {
        guard case .parsed(let job) = read(data, acceptsLiteralText: acceptsLiteralText) else { return nil }
        return job.hasForeignWords
    }

    private let data = #"{"userId":"u","category":"campaign","body":"Hello"}"#

    @Test func `words that are vouched for are taken though foreign ones are off (P10, P8)`() {
        let own = voucher.vouch(for: data)
        #expect(isForeign(own) == false)
        #expect(isForeign(own, acceptsLiteralText: false) == false)
        #expect(isForeign(data) == true)
        #expect(isForeign(data, acceptsLiteralText: false) == nil)
        // Somebody changed the words, or the user, on the queue.
        for (old, new) in [("Hello", "Hullo"), (#""u""#, #""v""#), ("campaign", "lifecycle")] {
            #expect(isForeign(own.replacing(old, with: new), acceptsLiteralText: false) == nil)
        }
    }

    @Test func `a refusal of foreign words names the setting (P10)`() {
        guard case .refused(let conclusion) = read(data, acceptsLiteralText: false) else {
            Issue.record("it was taken")
            return
        }
        #expect(
            conclusion.ending
                == .failed(
                    reason: conclusion.record.events.first?.detail?["message"]?.stringValue.map {
                        "invalid_text: \($0)"
                    } ?? ""
                )
        )
        #expect("\(conclusion.ending)".contains("ACCEPT_LITERAL_JOBS"))
    }
}
