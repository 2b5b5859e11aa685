import Kernel

/// What APNs remembers of each connection: the team and key it belongs to, and the provider token in use.
struct ConnectionLedger: Sendable {
    private struct Entry {
        let facts: ProviderTokenFacts
        var token: String
        var tokenSince: Timestamp
    }

    /// A token may not be replaced sooner than this on one connection.
    private static let updateInterval = Duration.seconds(20 * 60)

    private var entries: [Int: Entry] = [:]
    /// Connections whose client showed a certificate.
    private var certified: Set<Int> = []
    /// Connections with a lowered stream limit.
    private var distrusted: Set<Int> = []
    /// The last stream that is served on connections that were sent away.
    private var lastStreams: [Int: Int32] = [:]
    /// Connections that showed a valid provider token.
    private(set) var authenticated = 0

    /// Notes a request's provider token.
    /// - Returns: whether it is the connection's first, which raises its stream limit.
    /// - Throws: `InvalidProviderToken` for another team, `UnrelatedKeyIdInToken` for another key of the team,
    ///   `TooManyProviderTokenUpdates` for a new token within 20 minutes.
    mutating func admit(
        connection: Int,
        token: String,
        facts: ProviderTokenFacts,
        now: Timestamp
    ) throws(APNsRefusal) -> Bool {
        guard let entry = entries[connection] else {
            entries[connection] = Entry(facts: facts, token: token, tokenSince: now)
            authenticated += 1
            return true
        }
        guard entry.facts.teamID == facts.teamID else { throw .invalidProviderToken }
        guard entry.facts.keyID == facts.keyID else { throw .unrelatedKeyID }
        if entry.token != token {
            guard now - entry.tokenSince >= Self.updateInterval else { throw .tooManyTokenUpdates }
            entries[connection]?.token = token
            entries[connection]?.tokenSince = now
        }
        return false
    }

    /// Notes a request of a client with a certificate.
    /// - Returns: whether it is the connection's first.
    mutating func admitCertificate(connection: Int) -> Bool {
        guard certified.insert(connection).inserted else { return false }
        authenticated += 1
        return true
    }

    /// Notes that a connection's stream limit was lowered after a refusal.
    mutating func distrust(connection: Int) {
        distrusted.insert(connection)
    }

    /// Notes an accepted push.
    /// - Returns: whether the stream limit is to be raised again.
    mutating func forgive(connection: Int) -> Bool {
        distrusted.remove(connection) != nil
    }

    /// Notes that a connection was sent away after this stream.
    mutating func sendAway(connection: Int, lastStreamID: Int32) {
        lastStreams[connection] = lastStreamID
    }

    /// Whether a stream still counts, GOAWAY considered.
    func serves(connection: Int, streamID: Int32) -> Bool {
        streamID <= lastStreams[connection] ?? Int32.max
    }

    /// Forgets a connection that is gone.
    mutating func forget(connection: Int) {
        entries[connection] = nil
        certified.remove(connection)
        distrusted.remove(connection)
        lastStreams[connection] = nil
    }
}
