package import DeliveryEngine
package import Notifications
package import PushTransport

/// Sends a push to a provider, past bus, engine and caps.
package protocol DirectPushing: Sendable {
    /// Calls `completion` exactly once, on any thread.
    func send(_ request: PushRequest, completion: @escaping @Sendable (PushOutcome) -> Void)
}

extension PushTransport: DirectPushing {}

/// Running Live Activities and what starts one (G3). Every call throws `Unavailable` when the store does not answer.
package protocol LiveActivityBook: Sendable {
    /// Makes or renews a session.
    /// - Parameter defaults: for a session that says neither environment nor topic, of a device that is not known.
    func register(_ session: LiveActivitySession, of user: UserID, defaults: DeviceDefaults) async throws
    /// Removes the user's own session; one that is not there is no error.
    func remove(stream: StreamID, device: String, of user: UserID) async throws
    /// A page of a stream's sessions in the order of user and device.
    /// - Parameters:
    ///   - users: `nil` for all.
    ///   - after: where the page before ended.
    func sessions(of stream: StreamID, users: [UserID]?, after: SessionCursor?, limit: Int) async throws -> PushTargets
    /// Where an activity can be started for these users.
    func startTargets(of users: [UserID]) async throws -> PushTargets
    /// Ends sessions whose activity is over or whose token is dead.
    /// - Returns: how many ended.
    func end(_ spent: [SpentTarget], of stream: StreamID) async throws -> Int
    /// Forgets dead push-to-start tokens.
    /// - Returns: how many were forgotten.
    func forgetStartTokens(_ spent: [SpentTarget]) async throws -> Int
}

/// Devices for pushes outside the categories. Every call throws `Unavailable` when the store does not answer.
package protocol RawPushDirectory: Sendable {
    /// Devices that can be woken, whatever the user said of notifications.
    /// - Parameter device: the app's own name of one of them, `nil` for all.
    func wakeable(of user: UserID, device: String?) async throws -> PushTargets
    /// Devices that can be called, with their PushKit tokens.
    func callable(of user: UserID, device: String?) async throws -> PushTargets
    /// Forgets dead PushKit tokens.
    /// - Returns: how many were forgotten.
    func forgetCallTokens(_ spent: [SpentTarget]) async throws -> Int
}

/// What Live Activities and raw pushes stand on beside the rest.
package struct DirectPorts: Sendable {
    package var push: any DirectPushing
    /// Whom the configuration has credentials for; where one is missing, routes that need it answer 503.
    package var providers: Set<PushProvider>
    package var activities: any LiveActivityBook
    package var devices: any RawPushDirectory
    /// Takes dead device tokens out of use, by the engine's own rule (E9).
    package var tokens: any TokenInvalidating

    package init(
        push: any DirectPushing,
        providers: Set<PushProvider>,
        activities: any LiveActivityBook,
        devices: any RawPushDirectory,
        tokens: any TokenInvalidating
    ) {
        self.push = push
        self.providers = providers
        self.activities = activities
        self.devices = devices
        self.tokens = tokens
    }
}
