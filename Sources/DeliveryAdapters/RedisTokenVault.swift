import Kernel
import PushTransport
package import RedisClient

/// The provider token that a fleet shares, in Redis under a prefix of its own, so that an ACL can keep it apart. What lies there
/// is encrypted and leaves by itself.
package struct RedisTokenVault: ProviderTokenVault {
    /// What every key begins with; the name of team and key follows.
    package static let keyPrefix = "varsel:provider-token:"
    private static let timeout = Duration.seconds(1)
    /// One atomic step, so that of many processes at once exactly one token wins.
    private static let script = RedisScript(
        name: "settle-provider-token",
        text: """
            local lying = redis.call('GET', KEYS[1])
            local rest = redis.call('PTTL', KEYS[1])
            if lying and lying ~= ARGV[3] and rest > 0 then return {lying, rest} end
            redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
            return {ARGV[1], tonumber(ARGV[2])}
            """
    )

    private let redis: RedisClient

    package init(redis: RedisClient) {
        self.redis = redis
    }

    package func settle(
        _ name: String,
        candidate: [UInt8],
        replacing: [UInt8]?,
        lifetime: Duration
    ) async throws -> (sealed: [UInt8], age: Duration) {
        let milliseconds = lifetime.milliseconds
        let reply = try await redis.run(
            Self.script,
            keys: [.string(Self.keyPrefix + name)],
            arguments: [.bytes(candidate), .integer(milliseconds), .bytes(replacing ?? [])],
            timeout: Self.timeout
        )
        let parts = try reply.requireArray("a provider token")
        guard parts.count == 2, case .bulk(let sealed) = parts[0] else {
            throw RedisError(.unexpectedReply, "a provider token is bytes and a time", wasSent: true)
        }
        // The token was laid down for its whole lifetime, so what is left of that tells its age by Redis's own clock.
        return (sealed, .milliseconds(milliseconds - Int64(try parts[1].requireInt("a time to live"))))
    }
}
