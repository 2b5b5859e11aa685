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
