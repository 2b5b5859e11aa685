public import Foundation

/// When a device registers with the gateway and when it takes its token back (I3): a state machine without input or output.
///
/// Feed it what happened, do the actions it returns and feed it their outcome. One request is in flight at a time; what changes
/// meanwhile is sent afterwards, the newest state only. Its value is `Codable`: keep it after every event and hand it a `.launched` when the
/// app starts again.
public struct TokenSync: Sendable, Equatable, Codable {
    /// What happened.
    public enum Event: Sendable, Equatable {
        /// The app started. Whatever was in flight has an unknown outcome.
        case launched(timezone: String, permission: PushPermission)
        /// The app came to the foreground, where zone and permission may have changed.
        case foreground(timezone: String, permission: PushPermission)
        /// A user signed in; `session` names the sign-in, so that its bearer can be found, and is no secret.
        case loggedIn(session: String)
        /// The user signs out. Report it before the bearer is forgotten.
        case loggedOut
        /// Apple or Firebase gave a token; `nil` when it was invalidated.
        case tokenChanged(String?)
        /// ActivityKit gave a push-to-start token.
        case pushToStartTokenChanged(String?)
        /// The user or the system changed the permission.
        case permissionChanged(PushPermission)
        /// The device is in another zone.
        case timezoneChanged(String)
        /// The request in flight succeeded.
        case succeeded
        /// The request in flight failed.
        case failed(TokenSync.Failure)
        /// The moment of a `.wait` has come.
        case timerFired
    }

    /// Why a request failed.
    public enum Failure: Sendable, Equatable {
        /// Worth another try, after that many seconds when the gateway said so.
        case temporary(retryAfter: TimeInterval?)
        /// The bearer is not accepted.
        case unauthorised
        /// The gateway will never accept it.
        case refused
    }

    /// What to do.
    public enum Action: Sendable, Equatable {
        /// Register, with the session's bearer or without one.
        case register(DeviceRegistration, session: String?)
        /// Delete the token with the session's bearer.
        case delete(token: String, session: String)
        /// Send a `.timerFired` then; replaces an earlier wait.
        case wait(until: Date)
        /// Get a fresh access token for the session, then send `.loggedIn` with the same session.
        case renewBearer(session: String)
    }

    private struct Filing: Sendable, Equatable, Codable {
        var registration: DeviceRegistration
        var session: String?
    }

    private struct Deletion: Sendable, Equatable, Codable {
        var token: String
        var session: String
    }

    private enum Request: Sendable, Equatable, Codable {
        case register(Filing)
        case delete(Deletion)
    }

    /// Whether a device of nobody registers too.
    public let registersAnonymously: Bool
    /// After this many seconds a return to the foreground registers again though nothing changed.
    public static let staleAfter: TimeInterval = 86_400
    /// The first wait after a failure, doubled each time, in seconds.
    public static let firstWait: TimeInterval = 2
    /// The longest wait, in seconds.
    public static let longestWait: TimeInterval = 3600
    /// How often a deletion is tried; the gateway finds out by itself when a token is dead.
    public static let deletionAttempts = 8

    private var device: DeviceRegistration
    private var token: String?
    private var session: String?
    private var confirmed: Filing?
    private var confirmedAt: Date?
    private var refused: Filing?
    /// What the gateway has or may have: a registration whose answer was lost may have arrived.
    private var held: [Deletion] = []
    private var deletions: [Deletion] = []
    private var inFlight: Request?
    private var attempts = 0
    private var notBefore: Date?
    private var awaitsBearer = false

    /// A device that never registered.
    /// - Parameters:
    ///   - registersAnonymously: whether to register before anybody signs in; such a row receives nothing and leaves after 30 days.
    public init(deviceID: String, platform: String = "ios", registersAnonymously: Bool = false) {
        device = DeviceRegistration(platform: platform, deviceID: deviceID)
        self.registersAnonymously = registersAnonymously
    }

    /// Whether the gateway knows everything.
    public var isSettled: Bool { inFlight == nil && deletions.isEmpty && (wanted == nil || wanted == confirmed) }

    /// Takes an event in.
    /// - Parameter jitter: from 0 to 1, spreads the waits of many devices.
    /// - Returns: what to do now, in this order.
    public mutating func handle(_ event: Event, now: Date, jitter: Double = 0.5) -> [Action] {
        // A clock set back must not hold anything up for longer than the longest wait.
        if let time = notBefore, time.timeIntervalSince(now) > Self.longestWait { notBefore = nil }
        switch event {
        case .launched(let timezone, let permission):
            inFlight = nil
            confirmed = nil
            refused = nil
            calmDown()
            device.timezone = timezone
            change(permission)
        case .foreground(let timezone, let permission):
            if let confirmedAt, abs(now.timeIntervalSince(confirmedAt)) >= Self.staleAfter { confirmed = nil }
            device.timezone = timezone
            change(permission)
        case .loggedIn(let session):
            if let former = self.session, former != session { logOut() }
            self.session = session
            refused = nil
            calmDown()
        case .loggedOut: logOut()
        case .tokenChanged(let token):
            let old = self.token
            self.token = token.flatMap { $0.isEmpty ? nil : $0 }
            // A newer token replaces the old one at the gateway; one that just went must be taken back.
            if self.token == nil, let old { takeBack(old) }
        case .pushToStartTokenChanged(let token): device.pushToStartToken = token
        case .permissionChanged(let permission): change(permission)
        case .timezoneChanged(let timezone): device.timezone = timezone
        case .succeeded: succeed(now)
        case .failed(let failure):
            let renewal = fail(failure, now: now, jitter: jitter)
            if let renewal { return [renewal] + next(now) }
        case .timerFired: break
        }
        return next(now)
    }

    /// What the gateway ought to know, `nil` when it need know nothing.
    private var wanted: Filing? {
        guard session != nil || registersAnonymously && token != nil else { return nil }
        var registration = device
        registration.token = device.permission == .denied ? nil : token
        return Filing(registration: registration, session: session)
    }

    private mutating func next(_ now: Date) -> [Action] {
        guard inFlight == nil, !awaitsBearer || !deletions.isEmpty else { return [] }
        let request: Request
        if let deletion = deletions.first {
            request = .delete(deletion)
        } else if let wanted, wanted != confirmed, wanted != refused {
            request = .register(wanted)
        } else {
            return []
        }
        if let notBefore, notBefore > now { return [.wait(until: notBefore)] }
        inFlight = request
        switch request {
        case .register(let filing):
            hold(filing)
            return [.register(filing.registration, session: filing.session)]
        case .delete(let deletion): return [.delete(token: deletion.token, session: deletion.session)]
        }
    }

    private mutating func change(_ permission: PushPermission) {
        let wasDenied = device.permission == .denied
        device.permission = permission
        if permission == .denied, !wasDenied, let token { takeBack(token) }
    }

    private mutating func logOut() {
        let leaving = session
        takeBack { $0.session == leaving }
        session = nil
        confirmed = nil
        refused = nil
        calmDown()
    }

    private mutating func takeBack(_ token: String) {
        takeBack { $0.token == token }
    }

    /// Plans to delete what the gateway has or may have.
    private mutating func takeBack(_ isMeant: (Deletion) -> Bool) {
        for deletion in held where isMeant(deletion) {
            if !deletions.contains(deletion) { deletions.append(deletion) }
            if confirmed?.registration.token == deletion.token { confirmed = nil }
        }
    }

    /// Tokens that rotate while the gateway is away are few; beyond this many the oldest is left to die by itself.
    private static let heldLimit = 16

    private mutating func hold(_ filing: Filing) {
        guard let token = filing.registration.token, let owner = filing.session else { return }
        let entry = Deletion(token: token, session: owner)
        if !held.contains(entry) { held.append(entry) }
        if held.count > Self.heldLimit { held.removeFirst() }
    }

    private mutating func calmDown() {
        attempts = 0
        notBefore = nil
        awaitsBearer = false
    }

    private mutating func forget(_ deletion: Deletion) {
        deletions.removeAll { $0 == deletion }
        held.removeAll { $0 == deletion }
    }

    private mutating func succeed(_ now: Date) {
        switch inFlight {
        case .register(let filing):
            // Of a user who has left meanwhile, or of a token that has, the deletion waits already.
            let isTakenBack = deletions.contains {
                $0.token == filing.registration.token && $0.session == filing.session
            }
            if filing.session == session, !isTakenBack {
                confirmed = filing
                confirmedAt = now
            }
            // A device has one token: the newer one took the place of what was there.
            if let token = filing.registration.token {
                held.removeAll { $0.session == filing.session && $0.token != token && !deletions.contains($0) }
            }
        case .delete(let deletion): forget(deletion)
        case nil: return
        }
        inFlight = nil
        calmDown()
    }

    private mutating func fail(_ failure: Failure, now: Date, jitter: Double) -> Action? {
        guard let request = inFlight else { return nil }
        inFlight = nil
        attempts += 1
        switch (failure, request) {
        case (.temporary, .delete(let deletion)) where attempts >= Self.deletionAttempts:
            forget(deletion)
            calmDown()
        case (.temporary(let retryAfter), _):
            let doubled = Self.firstWait * pow(2, Double(min(attempts - 1, 20)))
            let wait = min(Self.longestWait, doubled) * (0.5 + 0.5 * min(max(jitter, 0), 1))
            notBefore = now.addingTimeInterval(min(Self.longestWait, max(wait, retryAfter ?? 0)))
        case (_, .delete(let deletion)):
            // Without its owner's bearer the token cannot be taken back; it dies with the next push at the latest.
            forget(deletion)
            calmDown()
        case (.unauthorised, .register(let filing)):
            guard let owner = filing.session, owner == session else { return nil }
            awaitsBearer = true
            return .renewBearer(session: owner)
        case (.refused, .register(let filing)):
            refused = filing
            calmDown()
        }
        return nil
    }
}
