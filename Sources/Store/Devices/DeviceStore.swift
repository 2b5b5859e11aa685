package import Kernel
package import Notifications
package import PostgresClient

/// Devices and whom they belong to (G1, G2, E9).
///
/// Registration and invalidation lock the user's preferences first, in a statement of its own, and look at devices only then:
/// in one statement, each would judge the permission by what it saw before the other had finished.
package struct DeviceStore: Sendable {
    /// What an invalidation changed.
    package struct Invalidation: Sendable, Equatable {
        package let tokenRemoved: Bool
        /// Whether it was the user's last device that may be reached.
        package let permissionRevoked: Bool

        package init(tokenRemoved: Bool, permissionRevoked: Bool) {
            self.tokenRemoved = tokenRemoved
            self.permissionRevoked = permissionRevoked
        }
    }

    /// Somebody else changed the owner of the token between two looks at it.
    private struct OwnerChanged: Error {}

    /// How often a registration that met another one is run again.
    private static let tries = 5

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Ties a device to a user: takes over the token wherever it stands, replaces the token of the same device id, and brings
    /// the user's permission and time zone up to date. Without a token the other fields are updated and the token stays.
    package func register(_ device: DeviceRecord, for user: UserID) async throws {
        if try await registerAtOnce(device, for: user) { return }
        for _ in 1..<Self.tries {
            do {
                return try await registerOnce(device, for: user)
            } catch is OwnerChanged {
                continue
            } catch let error as PostgresError where error.isTransient || error.sqlState == "23505" {
                continue
            }
        }
        try await registerOnce(device, for: user)
    }

    /// The usual case in one round trip: a device that names itself, with a token that nobody else holds.
    /// - Returns: `false` when nothing was done because somebody else holds the token or was faster.
    private func registerAtOnce(_ device: DeviceRecord, for user: UserID) async throws -> Bool {
        guard device.token != nil, device.deviceID != nil else { return false }
        do throws(PostgresError) {
            _ = try await pool.batch(DeviceSQL.registration(device, user: user))
            return true
        } catch {
            guard error.isTransient || error.sqlState == "23505" else { throw error }
            return false
        }
    }

    private func registerOnce(_ device: DeviceRecord, for user: UserID) async throws {
        try await pool.transaction { transaction in
            let owner = try await transaction.query(DeviceSQL.preparedOwner(of: device, user: user))
                .first?.optionalString("owner")
            let users = owner.map { [$0, user.rawValue] } ?? [user.rawValue]
            _ = try await transaction.query(DeviceSQL.lockPreferences(of: users))
            if device.token != nil {
                let removed = try await transaction.query(DeviceSQL.removeOthers(device, user: user))
                for row in removed {
                    guard let other = try row.optionalString("user_id") else { continue }
                    guard users.contains(other) else { throw OwnerChanged() }
                }
            }
            if let statement = DeviceSQL.save(device, user: user) {
                let saved = try await transaction.query(statement).first?.int64("id")
                if let saved, device.hasOtherTokens {
                    _ = try await transaction.query(DeviceSQL.saveOtherTokens(device, user: user, row: saved))
                }
            }
            _ = try await transaction.query(DeviceSQL.refresh(users, zone: device.timezone, of: user))
        }
    }

    /// Creates or renews a row tied to nobody, found by its token. A row that is tied to a user is neither read nor touched.
    /// Without a token there is nothing to do.
    package func registerAnonymously(_ device: DeviceRecord) async throws(PostgresError) {
        guard device.token != nil else { return }
        _ = try await pool.queryRetryingTransient(DeviceSQL.saveAnonymous(device))
    }

    /// Removes the user's own device with this token; any other token is left alone.
    package func unregister(token: String, provider: PushProvider, of user: UserID) async throws {
        try await retryingTransient {
            try await pool.transaction { transaction in
                let users = [user.rawValue]
                _ = try await transaction.query(DeviceSQL.lockPreferences(of: users))
                let removed = try await transaction.query(
                    DeviceSQL.remove(token: token, provider: provider, of: user)
                )
                guard !removed.isEmpty else { return }
                _ = try await transaction.query(DeviceSQL.refresh(users, zone: nil, of: user))
            }
        }
    }

    /// Takes a token out of use that its provider calls dead, unless the device has registered since.
    /// - Parameters:
    ///   - token: the token that was sent to; a row that has another one by now is left alone.
    ///   - registeredBefore: the provider's own timestamp, or the moment the send began.
    package func invalidate(
        device id: Int64,
        of user: UserID,
        token: String,
        registeredBefore moment: Timestamp,
        reason: String
    ) async throws -> Invalidation {
        try await retryingTransient {
            try await pool.transaction { transaction in
                _ = try await transaction.query(DeviceSQL.lockPreferences(of: [user.rawValue]))
                let removed = try await transaction.query(
                    DeviceSQL.invalidate(id: id, of: user, token: token, before: moment, reason: reason)
                )
                guard removed.affected > 0 else { return Invalidation(tokenRemoved: false, permissionRevoked: false) }
                let revoked = try await transaction.query(DeviceSQL.revokePermission(of: user))
                return Invalidation(tokenRemoved: true, permissionRevoked: revoked.affected > 0)
            }
        }
    }
}

/// Runs a transaction again, at most three times in all, when a deadlock or serialization failure ended it.
func retryingTransient<Value>(_ body: () async throws -> Value) async throws -> Value {
    for _ in 0..<2 {
        do {
            return try await body()
        } catch let error as PostgresError where error.isTransient {
            continue
        }
    }
    return try await body()
}
