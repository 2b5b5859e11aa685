package import Kernel
package import Observability
package import RedisClient
import Synchronization

/// Weekly caps: how many messages a user gets of each category, and of all that count together.
///
/// A slot belongs to a message id, so taking twice counts once and giving back is exact. When Redis does not answer in time
/// messages go uncounted (fail open), and after a few such calls nothing waits for it until it answers again.
public final class WeeklyLimiter: Sendable {
    /// How long a give-back waits: longer than a take, because nothing is sent meanwhile, and not so long that records wait for it.
    static let giveBackDeadline = Duration.milliseconds(250)
    /// How long keys live after the last slot was taken: a week, and a day for users who travel.
    static let timeToLive = Duration.seconds(8 * 86_400)
    /// The most messages of one script call.
    static let groupLimit = 500

    let keys: SlotKeys
    let redis: RedisClient
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: LimiterMetrics
    private let deadline: Duration
    private let breaker: Mutex<CircuitBreaker>

    /// Uses a Redis server.
    /// - Parameter redisURL: `redis://…` or `unix://…`
    /// - Throws: `RateLimiterError` for a URL that is none.
    public convenience init(redisURL: String, layout: KeyLayout = .standalone) throws(RateLimiterError) {
        do throws(RedisError) {
            let url = try RedisURL(parsing: redisURL)
            self.init(url: url, layout: layout, telemetry: Telemetry(logger: Logger(service: "rate-limiter")))
        } catch {
            throw RateLimiterError(description: error.description)
        }
    }

    /// - Parameters:
    ///   - deadline: how long a group may wait for Redis before it goes uncounted. An answer that is a little later is let
    ///     by, so that a busy machine does not lose its connection over it; slots it took belong to their messages all the same.
    ///   - failureThreshold: after how many failures in a row nothing waits any more.
    ///   - pause: how long until the next try.
    package init(
        url: RedisURL,
        layout: KeyLayout,
        deadline: Duration = .milliseconds(50),
        failureThreshold: Int = 3,
        pause: Duration = .seconds(1),
        clock: any WallClock = SystemWallClock(),
        telemetry: Telemetry
    ) {
        keys = SlotKeys(layout: layout)
        self.deadline = deadline
        self.clock = clock
        logger = telemetry.logger
        metrics = LimiterMetrics(registry: telemetry.metrics)
        breaker = Mutex(CircuitBreaker(threshold: failureThreshold, pause: pause))
        redis = RedisClient(
            url: url,
            options: RedisClient.Options(
                connectTimeout: .milliseconds(500),
                commandTimeout: .seconds(2),
                label: "caps"
            ),
            telemetry: telemetry
        )
        telemetry.metrics.gauge("caps_breaker_open", help: "1 while nothing waits for the caps' Redis.") {
            [weak self] in
            self?.isOpen == true ? 1 : 0
        }
    }

    /// Whether messages go uncounted without asking Redis.
    public var isOpen: Bool { breaker.withLock { $0.isOpen } }

    /// Connects and makes the scripts known, so that the first group does not spend its deadline on that.
    public func prepare() async throws(RateLimiterError) {
        try await asking { () async throws(RedisError) in
            _ = try await redis.run(LimiterScripts.take, keys: [], arguments: [0, 0, "0"])
        }
    }

    /// Takes a slot for each message, judged in their order.
    /// - Returns: one answer for each.
    public func take(_ requests: [SlotRequest]) async -> [SlotResult] {
        await take(requests, force: false)
    }

    /// Takes a slot for each message even where none is left: for messages that went uncounted. Nothing waits for these, so the
    /// deadline of `take` does not apply.
    /// - Returns: `taken`, `alreadyTaken`, or `uncounted` when Redis still does not answer.
    public func takeByForce(_ requests: [SlotRequest]) async -> [SlotResult] {
        await take(requests, force: true)
    }

    /// Gives slots back by message id. The caps in the requests play no part.
    /// - Returns: for each, whether there was a slot to give back.
    /// - Throws: when Redis does not answer within a quarter of a second, or did not the last times; giving back again is harmless.
    public func giveBack(_ requests: [SlotRequest]) async throws(RateLimiterError) -> [Bool] {
        var results = [Bool](repeating: false, count: requests.count)
        guard !requests.isEmpty else { return results }
        guard breaker.withLock({ $0.allows(at: .now) }) else {
            throw RateLimiterError(description: "the caps' Redis did not answer the last times; nothing was given back")
        }
        let calls = calls(requests)
        do throws(RedisError) {
            let scripts = calls.map { call in
                (
                    keys: call.flatMap { keys.pair(requests[$0]) },
                    arguments: call.map { RedisArgument.string(requests[$0].messageID) }
                )
            }
            let redis = redis
            let replies = try await AnswerInTime.wait(max(deadline, Self.giveBackDeadline)) {
                () async throws(RedisError) in
                try await redis.runEach(LimiterScripts.giveBack, calls: scripts)
            }
            for (call, reply) in zip(calls, replies) {
                for (index, code) in zip(call, try reply.checked().requireArray("give back")) {
                    results[index] = code.int == 1
                }
            }
            breaker.withLock { $0.succeeded() }
            return results
        } catch {
            fail(error)
            throw RateLimiterError(description: error.description)
        }
    }

    /// Closes the connection. Later messages go uncounted.
    public func close() async {
        await redis.close()
    }

    private func take(_ requests: [SlotRequest], force: Bool) async -> [SlotResult] {
        var results = [SlotResult](repeating: .uncounted, count: requests.count)
        defer { metrics.count(results) }
        guard !requests.isEmpty, breaker.withLock({ $0.allows(at: .now) }) else { return results }
        let calls = calls(requests)
        do throws(RedisError) {
            let scripts = calls.map { arguments($0.map { requests[$0] }, force: force) }
            let redis = redis
            let replies = try await AnswerInTime.wait(force ? nil : deadline) { () async throws(RedisError) in
                try await redis.runEach(LimiterScripts.take, calls: scripts)
            }
            for (call, reply) in zip(calls, replies) {
                let codes = try reply.checked().requireArray("take")
                for (index, code) in zip(call, codes) { results[index] = try Self.result(code) }
            }
            breaker.withLock { $0.succeeded() }
        } catch {
            fail(error)
        }
        return results
    }

    private func fail(_ error: RedisError) {
        metrics.failures.increment()
        let justOpened = breaker.withLock { breaker in
            let wasOpen = breaker.isOpen
            breaker.failed(at: .now)
            return breaker.isOpen && !wasOpen
        }
        // One line when it begins; the counter and the gauge tell the rest.
        if justOpened { logger.warning("weekly caps go uncounted", ["error": .error(error)]) }
    }

    /// Which messages go into which call: on one server groups of the whole list, on a cluster those of one user.
    private func calls(_ requests: [SlotRequest]) -> [[Int]] {
        switch keys.layout {
        case .standalone:
            return stride(from: 0, to: requests.count, by: Self.groupLimit).map { start in
                Array(start..<min(start + Self.groupLimit, requests.count))
            }
        case .cluster:
            var order: [String] = []
            var byUser: [String: [Int]] = [:]
            for (index, request) in requests.enumerated() {
                if byUser[request.userID] == nil { order.append(request.userID) }
                byUser[request.userID, default: []].append(index)
            }
            return order.compactMap { byUser[$0] }
        }
    }

    private func arguments(
        _ requests: [SlotRequest],
        force: Bool
    ) -> (keys: [RedisArgument], arguments: [RedisArgument]) {
        var arguments: [RedisArgument] = [
            .integer(clock.now.milliseconds), .integer(Self.timeToLive.milliseconds), force ? "1" : "0",
        ]
        for request in requests {
            arguments += [
                .string(request.messageID), .init(request.categoryCap), request.globalCap.map { .init($0) } ?? "",
            ]
        }
        return (requests.flatMap { keys.pair($0) }, arguments)
    }

    private static func result(_ code: RedisReply) throws(RedisError) -> SlotResult {
        switch try code.requireInt("take") {
        case 0: .taken
        case 1: .alreadyTaken
        case 2: .refused(.category)
        case 3: .refused(.global)
        default: throw RedisError(.unexpectedReply, "take: an unknown code")
        }
    }
}
