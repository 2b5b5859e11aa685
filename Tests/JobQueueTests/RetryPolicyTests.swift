import JobQueue
import Kernel
import Testing

/// What becomes of a failed attempt, by options as strangers write them (B3).
struct RetryPolicyTests {
    @Test(arguments: [
        // options, attempts made before this one, expected
        (#"{}"#, 0, RetryPolicy.Decision.fail), (#"{"attempts":0}"#, 0, .fail), (#"{"attempts":1}"#, 0, .fail),
        (#"{"attempts":2}"#, 0, .retry), (#"{"attempts":2}"#, 1, .fail), (#"{"attempts":1e+15}"#, 5, .retry),
        (#"{"attempts":3,"backoff":700}"#, 0, .retryAfter(.milliseconds(700))),
        (#"{"attempts":3,"backoff":0}"#, 0, .retry),
        (#"{"attempts":3,"backoff":-1}"#, 0, .fail),
        (#"{"attempts":3,"backoff":{"type":"fixed","delay":250}}"#, 1, .retryAfter(.milliseconds(250))),
        (#"{"attempts":9,"backoff":{"type":"exponential","delay":100}}"#, 0, .retryAfter(.milliseconds(100))),
        (#"{"attempts":9,"backoff":{"type":"exponential","delay":100}}"#, 3, .retryAfter(.milliseconds(800))),
        (#"{"attempts":99,"backoff":{"type":"exponential","delay":100}}"#, 90, .retryAfter(.seconds(86_400))),
        (#"{"attempts":9e99,"backoff":{"type":"exponential","delay":1e300}}"#, 9_000, .retryAfter(.seconds(86_400))),
        (#"{"attempts":3,"backoff":{"type":"of their own","delay":40}}"#, 1, .retryAfter(.milliseconds(40))),
        (#"{"attempts":3,"backoff":{"type":"exponential"}}"#, 0, .retry),
        (#"{"attempts":"3"}"#, 0, .fail), (#"{"attempts":null,"backoff":[]}"#, 0, .fail),
        (#"{"attempts":3,"backoff":"soon"}"#, 0, .retry), (#"{"attempts":-4}"#, 0, .fail), (#"[1]"#, 0, .fail),
        (#"{"attempts":2}"#, -7, .retry),
    ])
    func `attempts and backoff are read from the options`(
        options: String,
        made: Int,
        expected: RetryPolicy.Decision
    ) throws {
        let policy = RetryPolicy(random: { 0.5 })
        #expect(policy.decide(options: try JSONValue(parsing: options), attemptsMade: made) == expected)
    }

    @Test(arguments: [(0.0, 0.0, 1000), (0.0, 0.25, 750), (0.5, 0.5, 750), (0.999, 1.0, 999), (0.5, 7.0, 500)])
    func `jitter takes its part from the upper end`(random: Double, jitter: Double, expected: Int) throws {
        let policy = RetryPolicy(random: { random })
        for (type, delay) in [("fixed", 1000), ("exponential", 250)] {
            let options: JSONValue = [
                "attempts": 9,
                "backoff": [
                    "type": .string(type), "delay": .integer(delay),
                    "jitter": .number(JSONNumber(text: "\(jitter)")),
                ],
            ]
            // The third attempt of an exponential backoff waits four times the delay.
            #expect(policy.decide(options: options, attemptsMade: 2) == .retryAfter(.milliseconds(expected)))
        }
    }

    @Test func `no backoff is longer than the worker allows`() throws {
        let policy = RetryPolicy(longestBackoff: .seconds(5))
        let options: JSONValue = ["attempts": 3, "backoff": ["type": "fixed", "delay": 60_000]]
        #expect(policy.decide(options: options, attemptsMade: 0) == .retryAfter(.seconds(5)))
    }
}
