import Testing

@testable import PushTransport

struct DeadTokenBreakerTests {
    private var breaker = DeadTokenBreaker(limits: .init())

    @Test mutating func `it opens at the fiftieth bad answer when they are the majority`() {
        let changes = (0..<50).map { _ in breaker.note(isBad: true) }
        #expect(changes.dropLast().allSatisfy { $0 == .none })
        #expect(changes.last == .opened)
        #expect(breaker.isOpen)
    }

    @Test mutating func `a minority never opens it`() {
        for index in 0..<10_000 { #expect(breaker.note(isBad: index % 2 == 1) == .none) }
    }

    @Test mutating func `it closes when the bad share of the newest answers is below half the limit`() {
        for _ in 0..<200 { _ = breaker.note(isBad: true) }
        let changes = (0..<200).map { _ in breaker.note(isBad: false) }
        #expect(changes.firstIndex(of: .closed) == 150)
        #expect(!breaker.isOpen)
    }
}
