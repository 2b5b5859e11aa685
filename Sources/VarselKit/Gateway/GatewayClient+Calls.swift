public import Foundation

/// The calls, by the gateway's routes.
extension GatewayClient {
    private static let notifications = ["api", "v1", "notifications"]

    /// Registers the device, or renews what is known of it (G1). Works without a signed-in user, for whom it then does nothing.
    public func register(_ device: DeviceRegistration) async throws {
        let body = try GatewayCoding.encode(device)
        try await send(Call(method: "POST", path: Self.notifications + ["device-token"], body: body, isOpen: true))
    }

    /// Takes the user's token back (G2); one that is not there is no error.
    public func unregister(token: String) async throws {
        try await send(Call(method: "DELETE", path: Self.notifications + ["device-token", token]))
    }

    /// Reports a Live Activity that runs, or its new token (G3).
    public func register(_ session: LiveActivitySession) async throws {
        let body = try GatewayCoding.encode(session)
        try await send(Call(method: "POST", path: Self.notifications + ["live-activity-sessions"], body: body))
    }

    /// Reports that a Live Activity has ended on the device (G3).
    public func endLiveActivity(streamID: String, deviceID: String) async throws {
        let path = Self.notifications + ["live-activity-sessions", streamID, deviceID]
        try await send(Call(method: "DELETE", path: path))
    }

    /// A page of the inbox, the newest first (G4).
    /// - Parameters:
    ///   - page: from 1; page times limit at most 10,000.
    ///   - limit: 1 to 100.
    public func inbox(page: Int = 1, limit: Int = 20) async throws -> InboxPage {
        let query = [URLQueryItem(name: "page", value: "\(page)"), URLQueryItem(name: "limit", value: "\(limit)")]
        return try await data(
            Call(method: "GET", path: ["api", "v2", "notifications"], query: query),
            as: InboxPage.self
        )
    }

    /// How many are unread.
    public func unreadCount() async throws -> Int {
        struct Count: Decodable { let count: Int }
        return try await data(Call(method: "GET", path: Self.notifications + ["unread-count"]), as: Count.self).count
    }

    /// Marks one read or unread (G5).
    /// - Returns: the item as it is now.
    @discardableResult
    public func mark(_ id: UUID, read: Bool) async throws -> InboxItem {
        let path = Self.notifications + [id.uuidString.lowercased(), "read"]
        let body = try GatewayCoding.encode(["isRead": read])
        return try await data(Call(method: "PATCH", path: path, body: body), as: InboxItem.self)
    }

    /// Marks all read.
    /// - Returns: how many were unread.
    @discardableResult
    public func markAllRead() async throws -> Int {
        struct Updated: Decodable { let updated: Int }
        return try await data(Call(method: "POST", path: Self.notifications + ["read-all"]), as: Updated.self).updated
    }

    /// The categories for the settings screen (G6).
    /// - Parameter language: a BCP 47 tag; the user's stored language when `nil`.
    public func categories(language: String? = nil) async throws -> [CategoryInfo] {
        struct Categories: Decodable { let categories: [CategoryInfo] }
        let query = language.map { [URLQueryItem(name: "language", value: $0)] } ?? []
        let call = Call(method: "GET", path: Self.notifications + ["categories"], query: query)
        return try await data(call, as: Categories.self).categories
    }

    /// What the user chose (G6).
    public func preferences() async throws -> Preferences {
        try await data(Call(method: "GET", path: Self.notifications + ["preferences"]), as: Preferences.self)
    }

    /// Changes some of it (G6).
    @discardableResult
    public func change(_ update: PreferenceUpdate) async throws -> Preferences {
        let body = try GatewayCoding.encode(update)
        return try await data(
            Call(method: "PATCH", path: Self.notifications + ["preferences"], body: body),
            as: Preferences.self
        )
    }

    /// Begins a quiet week, or silence until a given time within a year. The plain week is not repeated by itself, since each request
    /// would begin it anew.
    @discardableResult
    public func beginSilence(until: Date? = nil) async throws -> Preferences {
        let body = try until.map { try GatewayCoding.encode(["until": $0]) }
        let path = Self.notifications + ["silence"]
        return try await data(
            Call(method: "POST", path: path, body: body, isIdempotent: until != nil),
            as: Preferences.self
        )
    }

    /// Ends the silence.
    @discardableResult
    public func endSilence() async throws -> Preferences {
        try await data(Call(method: "DELETE", path: Self.notifications + ["silence"]), as: Preferences.self)
    }

    /// Reports an impulse or an entry, never its content (G9). Not repeated by itself.
    public func report(_ activity: Activity) async throws {
        let body = try GatewayCoding.encode(activity)
        try await send(Call(method: "POST", path: ["api", "v1", "activities"], body: body, isIdempotent: false))
    }
}
