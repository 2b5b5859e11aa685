import Foundation
import Testing
import VarselKit

/// The rules of registration, an event after the other (I3).
struct TokenSyncTests {
    private let now = Date(timeIntervalSince1970: 1_796_117_400)

    private func registration(_ token: String?, _ permission: PushPermission = .granted, zone: String = "Europe/Oslo")
        -> DeviceRegistration
    {
        DeviceRegistration(token: token, deviceID: "phone", timezone: zone, permission: permission)
    }

    /// Signed in as `s1` with the token `t1`, all of it known to the gateway.
    private func settled() -> TokenSync {
        var sync = TokenSync(deviceID: "phone")
        _ = sync.handle(.launched(timezone: "Europe/Oslo", permission: .granted), now: now)
        _ = sync.handle(.tokenChanged("t1"), now: now)
        _ = sync.handle(.loggedIn(session: "s1"), now: now)
        _ = sync.handle(.succeeded, now: now)
        return sync
    }

    @Test func `nobody registers before someone signs in, unless the app wants it (I3)`() {
        var sync = TokenSync(deviceID: "phone")
        #expect(sync.handle(.launched(timezone: "Europe/Oslo", permission: .granted), now: now).isEmpty)
        #expect(sync.handle(.tokenChanged("t1"), now: now).isEmpty)
        #expect(sync.handle(.loggedIn(session: "s1"), now: now) == [.register(registration("t1"), session: "s1")])
        #expect(sync.handle(.succeeded, now: now).isEmpty)
        #expect(sync.isSettled)
        var open = TokenSync(deviceID: "phone", registersAnonymously: true)
        #expect(open.handle(.launched(timezone: "Europe/Oslo", permission: .granted), now: now).isEmpty)
        #expect(open.handle(.tokenChanged("t1"), now: now) == [.register(registration("t1"), session: nil)])
    }

    @Test func `each change registers once (I3)`() {
        var sync = settled()
        #expect(sync.handle(.tokenChanged("t1"), now: now).isEmpty)
        #expect(sync.handle(.timezoneChanged("Europe/Oslo"), now: now).isEmpty)
        #expect(sync.handle(.tokenChanged("t2"), now: now) == [.register(registration("t2"), session: "s1")])
        #expect(sync.handle(.succeeded, now: now).isEmpty)
        let tokyo = registration("t2", zone: "Asia/Tokyo")
        #expect(sync.handle(.timezoneChanged("Asia/Tokyo"), now: now) == [.register(tokyo, session: "s1")])
        #expect(sync.handle(.succeeded, now: now).isEmpty)
        var live = tokyo
        live.pushToStartToken = "p1"
        #expect(sync.handle(.pushToStartTokenChanged("p1"), now: now) == [.register(live, session: "s1")])
    }

    @Test func `a launch registers again, a return to the foreground only after a change or a day (I3)`() {
        var sync = settled()
        let foreground = TokenSync.Event.foreground(timezone: "Europe/Oslo", permission: .granted)
        #expect(sync.handle(foreground, now: now.addingTimeInterval(86_399)).isEmpty)
        #expect(sync.handle(foreground, now: now.addingTimeInterval(86_400)).count == 1)
        sync = settled()
        let launch = sync.handle(.launched(timezone: "Europe/Oslo", permission: .granted), now: now)
        #expect(launch == [.register(registration("t1"), session: "s1")])
    }

    @Test func `changes during a request are sent afterwards, the newest alone (I3)`() {
        var sync = settled()
        #expect(sync.handle(.tokenChanged("t2"), now: now).count == 1)
        #expect(sync.handle(.tokenChanged("t3"), now: now).isEmpty)
        #expect(sync.handle(.tokenChanged("t4"), now: now).isEmpty)
        #expect(sync.handle(.succeeded, now: now) == [.register(registration("t4"), session: "s1")])
    }

    @Test func `logging out deletes the token with the bearer of who leaves (I3)`() {
        var sync = settled()
        #expect(sync.handle(.loggedOut, now: now) == [.delete(token: "t1", session: "s1")])
        #expect(sync.handle(.succeeded, now: now).isEmpty)
        #expect(sync.isSettled)
    }

    @Test func `a logout during a registration deletes after it, whatever came of it (I3)`() {
        for outcome in [TokenSync.Event.succeeded, .failed(.refused)] {
            var sync = TokenSync(deviceID: "phone")
            _ = sync.handle(.tokenChanged("t1"), now: now)
            #expect(sync.handle(.loggedIn(session: "s1"), now: now).count == 1)
            #expect(sync.handle(.loggedOut, now: now).isEmpty)
            #expect(sync.handle(outcome, now: now) == [.delete(token: "t1", session: "s1")])
            #expect(sync.handle(.succeeded, now: now).isEmpty)
            #expect(sync.isSettled)
        }
    }

    @Test func `when another signs in meanwhile, the old one's token goes first (I3)`() {
        var sync = settled()
        #expect(sync.handle(.loggedOut, now: now) == [.delete(token: "t1", session: "s1")])
        #expect(sync.handle(.loggedIn(session: "s2"), now: now).isEmpty)
        #expect(sync.handle(.succeeded, now: now) == [.register(registration("t1"), session: "s2")])
    }

    @Test func `a withdrawn permission deletes the token and says so, a granted one brings it back (I3)`() {
        var sync = settled()
        #expect(sync.handle(.permissionChanged(.denied), now: now) == [.delete(token: "t1", session: "s1")])
        #expect(sync.handle(.succeeded, now: now) == [.register(registration(nil, .denied), session: "s1")])
        #expect(sync.handle(.succeeded, now: now).isEmpty)
        #expect(
            sync.handle(.permissionChanged(.granted), now: now) == [.register(registration("t1"), session: "s1")]
        )
    }

    @Test func `failures wait longer and longer, and at least as long as the gateway asks (I3)`() {
        var sync = settled()
        _ = sync.handle(.tokenChanged("t2"), now: now)
        var waits: [TimeInterval] = []
        var time = now
        for _ in 0..<15 {
            guard case .wait(let until)? = sync.handle(.failed(.temporary(retryAfter: nil)), now: time, jitter: 1).first
            else { return #expect(Bool(false), "no wait") }
            waits.append(until.timeIntervalSince(time))
            #expect(sync.handle(.timezoneChanged("Europe/Oslo"), now: time) == [.wait(until: until)])
            time = until
            #expect(sync.handle(.timerFired, now: time).count == 1)
        }
        #expect(Array(waits.prefix(4)) == [2, 4, 8, 16])
        #expect(waits.last == 3600)
        let asked = sync.handle(.failed(.temporary(retryAfter: 90)), now: time, jitter: 0)
        #expect(asked == [.wait(until: time.addingTimeInterval(1800))])
        sync = settled()
        _ = sync.handle(.tokenChanged("t2"), now: now)
        #expect(
            sync.handle(.failed(.temporary(retryAfter: 90)), now: now) == [.wait(until: now.addingTimeInterval(90))]
        )
    }

    @Test func `what is refused is not repeated until something changes (I3)`() {
        var sync = settled()
        _ = sync.handle(.tokenChanged("bad"), now: now)
        #expect(sync.handle(.failed(.refused), now: now).isEmpty)
        #expect(sync.handle(.timerFired, now: now).isEmpty)
        #expect(sync.handle(.tokenChanged("t3"), now: now) == [.register(registration("t3"), session: "s1")])
    }

    @Test func `an expired bearer is renewed, then the registration goes on (I3)`() {
        var sync = settled()
        _ = sync.handle(.tokenChanged("t2"), now: now)
        #expect(sync.handle(.failed(.unauthorised), now: now) == [.renewBearer(session: "s1")])
        #expect(sync.handle(.timezoneChanged("Asia/Tokyo"), now: now).isEmpty)
        #expect(sync.handle(.loggedIn(session: "s1"), now: now).count == 1)
    }

    @Test func `its state survives a restart at any step (I3)`() throws {
        var sync = settled()
        _ = sync.handle(.tokenChanged("t2"), now: now)
        _ = sync.handle(.loggedOut, now: now)
        var again = try JSONDecoder().decode(TokenSync.self, from: JSONEncoder().encode(sync))
        #expect(again == sync)
        // Whether the registration arrived is unknown, so both tokens are taken back.
        let actions = again.handle(.launched(timezone: "Europe/Oslo", permission: .granted), now: now)
        #expect(actions == [.delete(token: "t1", session: "s1")])
        #expect(again.handle(.succeeded, now: now) == [.delete(token: "t2", session: "s1")])
        #expect(again.handle(.succeeded, now: now).isEmpty)
        #expect(again.isSettled)
    }

    @Test(arguments: UInt64(1)...200)
    func `whatever happens in whatever order, one request flies at a time and the newest state arrives (I3)`(
        seed: UInt64
    ) throws {
        var random = Seeded(seed)
        var sync = TokenSync(deviceID: "phone")
        var time = now
        var flying: TokenSync.Action?
        var waiting: Date?
        /// What the gateway has: token to session.
        var server: [String: String] = [:]
        var session: String?
        var token: String?
        func take(_ actions: [TokenSync.Action]) {
            for action in actions {
                switch action {
                case .register, .delete:
                    #expect(flying == nil, "two requests at once, seed \(seed)")
                    flying = action
                case .wait(let until): waiting = until
                case .renewBearer: break
                }
            }
        }
        func apply(_ action: TokenSync.Action) {
            switch action {
            case .register(let device, let owner):
                guard let owner else { return }
                if device.token != nil { server = server.filter { $0.value != owner } }
                if let token = device.token { server[token] = owner }
            case .delete(let token, let owner): if server[token] == owner { server[token] = nil }
            default: break
            }
        }
        func step(_ event: TokenSync.Event) { take(sync.handle(event, now: time, jitter: 0.5)) }
        for number in 0..<60 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                token = "t\(number)"
                step(.tokenChanged(token))
            case 1:
                session = "s\(number)"
                if Bool.random(using: &random) { step(.loggedOut) }
                step(.loggedIn(session: "s\(number)"))
            case 2:
                session = nil
                step(.loggedOut)
            case 3: step(.timezoneChanged("Zone/\(number)"))
            case 4, 5:
                guard let action = flying else { continue }
                flying = nil
                apply(action)
                step(.succeeded)
            case 6:
                guard let action = flying else { continue }
                flying = nil
                // The answer got lost, not always the request.
                if Bool.random(using: &random) { apply(action) }
                step(.failed(.temporary(retryAfter: nil)))
            default:
                let data = try JSONEncoder().encode(sync)
                sync = try JSONDecoder().decode(TokenSync.self, from: data)
            }
        }
        // Then the network is well.
        for _ in 0..<80 {
            if let action = flying {
                flying = nil
                apply(action)
                step(.succeeded)
            } else if let until = waiting {
                time = max(time, until)
                waiting = nil
                step(.timerFired)
            }
        }
        #expect(sync.isSettled, "seed \(seed)")
        if let session, let token {
            #expect(server[token] == session, "seed \(seed)")
        } else if session == nil, let token {
            #expect(server[token] == nil, "seed \(seed)")
        }
    }
}

/// SplitMix64: a run is replayed by its seed.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
