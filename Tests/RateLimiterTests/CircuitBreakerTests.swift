import Testing

@testable import RateLimiter

struct CircuitBreakerTests {
    private let start = ContinuousClock.now

    @Test func `it opens after failures in a row, and a success between starts the count again`() {
        var breaker = CircuitBreaker(threshold: 3, pause: .seconds(1))
        breaker.failed(at: start)
        breaker.failed(at: start)
        breaker.succeeded()
        breaker.failed(at: start)
        breaker.failed(at: start)
        #expect(!breaker.isOpen)
        breaker.failed(at: start)
        #expect(breaker.isOpen)
        let answers = [0, 999].map { breaker.allows(at: start + .milliseconds($0)) }
        #expect(answers == [false, false])
    }

    @Test func `after the pause one call may try, and its outcome decides`() {
        var breaker = CircuitBreaker(threshold: 1, pause: .seconds(1))
        breaker.failed(at: start)
        let first = [1000, 1000].map { breaker.allows(at: start + .milliseconds($0)) }
        #expect(first == [true, false])
        breaker.failed(at: start + .milliseconds(1000))
        let second = [1999, 2000].map { breaker.allows(at: start + .milliseconds($0)) }
        #expect(second == [false, true])
        breaker.succeeded()
        #expect(!breaker.isOpen)
        let third = [2000, 2000].map { breaker.allows(at: start + .milliseconds($0)) }
        #expect(third == [true, true])
    }

    @Test func `a try that never reports does not keep it open for ever`() {
        var breaker = CircuitBreaker(threshold: 1, pause: .seconds(1))
        breaker.failed(at: start)
        let answers = [1, 2].map { breaker.allows(at: start + .seconds($0)) }
        #expect(answers == [true, true])
    }
}
