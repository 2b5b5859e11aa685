import Kernel
import Testing

@testable import DeliveryEngine

struct StartLimitTests {
    private let limit = StartLimit(limit: 100)

    @Test func `a job that comes back at once is stopped after a hundred starts`() {
        #expect(!limit.isExceeded(claims: 100, age: .zero))
        #expect(limit.isExceeded(claims: 101, age: .seconds(9)))
        #expect(limit.isExceeded(claims: 101, age: .seconds(-60)), "a clock that is ahead counts as no time")
    }

    @Test(arguments: [6 * 3600, 24 * 3600, 72 * 3600])
    func `an outage as long as the time to live fails nobody (E10)`(timeToLive: Int) {
        var generator = SystemRandomNumberGenerator()
        let policy = AttemptPolicy(limit: 5)
        var age = Duration.zero
        var claims = 0
        while age < .seconds(timeToLive) {
            claims += 1
            #expect(!limit.isExceeded(claims: claims, age: age))
            age += policy.outageDelay(claims: claims, using: &generator)
        }
        #expect(claims > 100)
    }
}
