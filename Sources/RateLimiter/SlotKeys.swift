import RedisClient

/// How the keys are spread over servers.
public enum KeyLayout: Sendable {
    /// One server: a whole group of messages is one call.
    case standalone
    /// A cluster: all keys of a user lie in one slot, and each user is a call of its own, sent together.
    case cluster
}

/// The names of the keys. They are shared with other systems, so they may not change.
struct SlotKeys: Sendable {
    let layout: KeyLayout

    func category(user: String, category: String, week: String) -> RedisArgument {
        "notif:v2:cat:\(tagged(user)):\(category):\(week)"
    }

    func global(user: String, week: String) -> RedisArgument {
        "notif:v2:global:\(tagged(user)):\(week)"
    }

    func pair(_ request: SlotRequest) -> [RedisArgument] {
        [
            category(user: request.userID, category: request.categoryID, week: request.weekKey),
            global(user: request.userID, week: request.weekKey),
        ]
    }

    private func tagged(_ user: String) -> String {
        switch layout {
        case .standalone: user
        case .cluster: "{\(user)}"
        }
    }
}
