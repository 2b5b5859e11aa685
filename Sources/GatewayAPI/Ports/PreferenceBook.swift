package import Kernel
package import NotificationContract
package import Notifications

/// What a user chose, as it stands in the store.
package struct UserPreferences: Sendable, Equatable {
    /// One category's switch and history.
    package struct CategoryState: Sendable, Equatable {
        /// `nil` when never asked.
        package var isEnabled: Bool?
        package var lastSentAt: Timestamp?

        package init(isEnabled: Bool? = nil, lastSentAt: Timestamp? = nil) {
            self.isEnabled = isEnabled
            self.lastSentAt = lastSentAt
        }
    }

    package var permission: String
    package var categories: [CategoryID: CategoryState]
    package var timezone: String?
    package var language: String?
    package var silenceUntil: Timestamp?

    package init(
        permission: String = PermissionStatus.notDetermined.rawValue,
        categories: [CategoryID: CategoryState] = [:],
        timezone: String? = nil,
        language: String? = nil,
        silenceUntil: Timestamp? = nil
    ) {
        self.permission = permission
        self.categories = categories
        self.timezone = timezone
        self.language = language
        self.silenceUntil = silenceUntil
    }
}

/// Changes to preferences; `nil` leaves a value alone.
package struct PreferenceChange: Sendable, Equatable {
    package var switches: [CategoryID: Bool] = [:]
    package var permission: PermissionStatus?
    package var timezone: String?
    package var language: String?
    /// `.some(nil)` ends the silence.
    package var silenceUntil: Timestamp??

    package init() {}

    package var isEmpty: Bool { self == PreferenceChange() }
}

/// Preferences of users. Every call throws `Unavailable` when the store does not answer.
package protocol PreferenceBook: Sendable {
    /// A user without a row has the defaults.
    func preferences(of user: UserID) async throws -> UserPreferences
    /// Applies the change, making the row where there is none.
    /// - Returns: the preferences as they are now; `nil` when the time zone is not one the store knows.
    func change(_ change: PreferenceChange, of user: UserID) async throws -> UserPreferences?
    /// Forgets when categories were last sent and ends the silence: for development only.
    func forgetHistory(of user: UserID) async throws
}
