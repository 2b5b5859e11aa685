import PostgresClient

/// Calls the store, and tells a database that does not answer (`Unavailable`) from one that answered with an error, which is a
/// fault of ours.
func asking<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error as PostgresError where error.isOutage {
        throw Unavailable(dependency: "postgresql", reason: error.description)
    }
}

extension PostgresError {
    /// Whether asking again later may help: no connection, no answer in time, no free connection, or a server that is starting,
    /// stopping, out of something or not writable (SQLSTATE classes 53 and 57, 25006).
    fileprivate var isOutage: Bool {
        guard code == .server else { return code != .decoding && code != .configuration }
        guard let sqlState else { return false }
        return sqlState.hasPrefix("53") || sqlState.hasPrefix("57") || sqlState == "25006" || isTransient
    }
}
