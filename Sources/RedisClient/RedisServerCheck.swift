package import Kernel

/// Whether a Redis server is fit to hold a queue.
package struct RedisServerCheck: Sendable {
    /// Such as `7.0.15`.
    package let version: String
    package let isCluster: Bool
    /// Things an operator should know, such as that a power loss would lose jobs.
    package let warnings: [String]

    /// Asks the server about itself.
    /// - Throws: `unfitServer` when it is older than 6.2 or may evict keys, which would lose jobs without a trace.
    package static func run(_ client: RedisClient) async throws(RedisError) -> RedisServerCheck {
        let reply = try await client.send(RedisCommand(["INFO"]))
        return try RedisServerCheck(info: try reply.requireString("INFO"))
    }

    /// Judges what INFO says.
    init(info: String) throws(RedisError) {
        var fields: [Substring: Substring] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon]] = line[line.index(after: colon)...]
        }
        version = String(fields["redis_version"] ?? "unknown")
        let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
        guard numbers.count >= 2, (numbers[0], numbers[1]) >= (6, 2) else {
            throw RedisError(.unfitServer, "version 6.2 or later is needed, the server has \(version)")
        }
        let policy = fields["maxmemory_policy"] ?? "unknown"
        guard policy == "noeviction" else {
            throw RedisError(
                .unfitServer,
                "maxmemory-policy is \(policy) and must be noeviction: with any other the server may drop jobs unnoticed"
            )
        }
        isCluster = fields["redis_mode"] == "cluster"
        warnings =
            fields["aof_enabled"] == "1"
            ? [] : ["appendonly is off: a crash or restart of Redis loses every job since its last snapshot"]
    }

    /// How far the server's clock is ahead of ours; half of the round trip is the measurement's error.
    package static func clockOffset(
        _ client: RedisClient,
        clock: some WallClock
    ) async throws(RedisError) -> Duration {
        let before = clock.now
        let parts = try await client.send(RedisCommand(["TIME"])).requireArray("TIME")
        let after = clock.now
        guard parts.count == 2 else { throw RedisError(.unexpectedReply, "TIME has two parts") }
        let server = try parts[0].requireInt("TIME") * 1000 + parts[1].requireInt("TIME") / 1000
        let middle = (before.milliseconds + after.milliseconds) / 2
        return .milliseconds(Int64(server) - middle)
    }
}
