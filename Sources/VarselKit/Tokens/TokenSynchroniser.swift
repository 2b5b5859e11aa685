public import Foundation

/// Runs a `TokenSync` against a gateway: keeps its state, does its actions, tells it what came of them.
public actor TokenSynchroniser {
    /// What it needs of the app.
    public struct Surroundings: Sendable {
        /// Registers with the bearer of the session, or without one.
        public var register: @Sendable (DeviceRegistration, _ session: String?) async throws -> Void
        /// Deletes a token with the bearer of the session.
        public var delete: @Sendable (_ token: String, _ session: String) async throws -> Void
        /// Gets a fresh access token.
        /// - Returns: whether there is one.
        public var renewBearer: @Sendable (_ session: String) async -> Bool
        /// Keeps the state across starts.
        public var save: @Sendable (TokenSync) async -> Void
        /// The time.
        public var now: @Sendable () -> Date
        /// Waits until then.
        public var wait: @Sendable (_ until: Date) async throws -> Void

        /// Describes the surroundings.
        public init(
            register: @escaping @Sendable (DeviceRegistration, _ session: String?) async throws -> Void,
            delete: @escaping @Sendable (_ token: String, _ session: String) async throws -> Void,
            renewBearer: @escaping @Sendable (_ session: String) async -> Bool = { _ in false },
            save: @escaping @Sendable (TokenSync) async -> Void,
            now: @escaping @Sendable () -> Date = { Date() },
            wait: @escaping @Sendable (_ until: Date) async throws -> Void = { until in
                try await Task.sleep(for: .seconds(max(0, until.timeIntervalSinceNow)))
            }
        ) {
            self.register = register
            self.delete = delete
            self.renewBearer = renewBearer
            self.save = save
            self.now = now
            self.wait = wait
        }
    }

    private var sync: TokenSync
    private let surroundings: Surroundings
    private var timer: Task<Void, Never>?

    /// - Parameter sync: as it was saved, or a new one.
    public init(_ sync: TokenSync, surroundings: Surroundings) {
        self.sync = sync
        self.surroundings = surroundings
    }

    /// Takes an event in and returns when nothing more can be done at once. Events may come while it runs; a second request never starts
    /// before the first has ended.
    public func handle(_ event: TokenSync.Event) async {
        var events = [event]
        while !events.isEmpty {
            let actions = sync.handle(events.removeFirst(), now: surroundings.now(), jitter: .random(in: 0...1))
            await surroundings.save(sync)
            for action in actions { if let outcome = await perform(action) { events.append(outcome) } }
        }
    }

    private func perform(_ action: TokenSync.Action) async -> TokenSync.Event? {
        switch action {
        case .register(let registration, let session):
            return await outcome { try await surroundings.register(registration, session) }
        case .delete(let token, let session):
            return await outcome { try await surroundings.delete(token, session) }
        case .renewBearer(let session):
            return await surroundings.renewBearer(session) ? .loggedIn(session: session) : nil
        case .wait(let until):
            timer?.cancel()
            let wait = surroundings.wait
            timer = Task { [weak self] in
                guard (try? await wait(until)) != nil else { return }
                await self?.handle(.timerFired)
            }
            return nil
        }
    }

    private func outcome(_ request: () async throws -> Void) async -> TokenSync.Event {
        do {
            try await request()
            return .succeeded
        } catch let error as GatewayError {
            return .failed(error.syncFailure)
        } catch {
            return .failed(.temporary(retryAfter: nil))
        }
    }
}
