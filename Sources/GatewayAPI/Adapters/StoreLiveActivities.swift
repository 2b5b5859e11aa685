package import Notifications
package import Store

/// Live Activities in PostgreSQL.
package struct StoreLiveActivities: LiveActivityBook {
    private let store: LiveActivityStore

    package init(_ store: LiveActivityStore) {
        self.store = store
    }

    package func register(_ session: LiveActivitySession, of user: UserID, defaults: DeviceDefaults) async throws {
        try await asking {
            try await store.register(
                session,
                of: user,
                environment: defaults.environment,
                topic: defaults.topic
            )
        }
    }

    package func remove(stream: StreamID, device: String, of user: UserID) async throws {
        try await asking { try await store.remove(stream: stream, device: device, of: user) }
    }

    package func sessions(
        of stream: StreamID,
        users: [UserID]?,
        after: SessionCursor?,
        limit: Int
    ) async throws -> PushTargets {
        try await asking {
            try await store.sessions(
                of: stream,
                users: users,
                after: after.map { ($0.user, $0.device) },
                limit: limit
            )
        }
    }

    package func startTargets(of users: [UserID]) async throws -> PushTargets {
        try await asking { try await store.startTargets(of: users) }
    }

    package func end(_ spent: [SpentTarget], of stream: StreamID) async throws -> Int {
        try await asking { try await store.end(spent, of: stream) }
    }

    package func forgetStartTokens(_ spent: [SpentTarget]) async throws -> Int {
        try await asking { try await store.forgetStartTokens(spent) }
    }
}

/// Devices for raw pushes in PostgreSQL.
package struct StoreRawPushDirectory: RawPushDirectory {
    private let store: PushTargetStore

    package init(_ store: PushTargetStore) {
        self.store = store
    }

    package func wakeable(of user: UserID, device: String?) async throws -> PushTargets {
        try await asking { try await store.wakeable(of: user, device: device) }
    }

    package func callable(of user: UserID, device: String?) async throws -> PushTargets {
        try await asking { try await store.callable(of: user, device: device) }
    }

    package func forgetCallTokens(_ spent: [SpentTarget]) async throws -> Int {
        try await asking { try await store.forgetCallTokens(spent) }
    }
}
