import NotificationContract
package import Notifications
package import Store

/// Preferences in PostgreSQL.
package struct StorePreferenceBook: PreferenceBook {
    private let store: PreferenceStore

    package init(_ store: PreferenceStore) {
        self.store = store
    }

    package func preferences(of user: UserID) async throws -> UserPreferences {
        UserPreferences(try await asking { try await store.preferences(of: user) })
    }

    package func change(_ change: PreferenceChange, of user: UserID) async throws -> UserPreferences? {
        var stored = PreferenceStore.Change()
        for (category, isOn) in change.switches { stored.switches[category.rawValue] = isOn }
        stored.permission = change.permission.map(DeviceRecord.Permission.init)
        stored.timezone = change.timezone
        stored.language = change.language
        stored.silenceUntil = change.silenceUntil
        return try await asking { try await store.change(stored, of: user) }.map(UserPreferences.init)
    }

    package func forgetHistory(of user: UserID) async throws {
        try await asking { try await store.forgetHistory(of: user) }
    }
}

extension UserPreferences {
    fileprivate init(_ stored: PreferenceStore.Preferences) {
        self.init(
            permission: stored.permission,
            categories: Dictionary(
                uniqueKeysWithValues: stored.categories.map { name, state in
                    (CategoryID(name), CategoryState(isEnabled: state.isEnabled, lastSentAt: state.lastSentAt))
                }
            ),
            timezone: stored.timezone,
            language: stored.language,
            silenceUntil: stored.silenceUntil
        )
    }
}
