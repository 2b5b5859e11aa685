import DeliveryEngine
import GatewayAPI
import Kernel
import NotificationContract
import Notifications
import Producers
import Synchronization

/// Every port of the gateway in memory, with what the calls left behind.
final class MemoryPorts: Sendable {
    struct State {
        var registrations: [(device: DeviceRegistration, user: UserID?)] = []
        var removed: [(token: String, provider: PushProvider, user: UserID)] = []
        var items: [UserID: [InboxItem]] = [:]
        var preferences: [UserID: UserPreferences] = [:]
        var orders: [NotificationOrder] = []
        /// What was handed in with a time ahead, by every id it has or had.
        var schedules: [(credential: String, schedule: ScheduledNotification)] = []
        /// What the queue says to a try to take something back; `nil` for what it finds among the orders.
        var withdrawal: WithdrawnNotification?
        var begun: Set<MessageID> = []
        /// The id that another request gives to what is scheduled, between being read and being taken.
        var movedMeanwhile: MessageID?
        var calledBack: [(ids: [MessageID], reason: String, event: DeliveryEvent?)] = []
        var records: [String: (fingerprint: String, ids: [MessageID], answer: RecordedAnswer?, isFree: Bool)] = [:]
        var stories: [MessageStory] = []
        var activity: [ActivityReport] = []
        var voice = VoiceAnswer.silent(reason: "no_activity")
        var recipient = Recipient(weekKey: "2026-W49")
        var usage = CapUsage(categories: [:], global: 0)
        var cleared: [UserID] = []
        var clearedWeeks: [String] = []
        var pushes: [DevicePush] = []
        var erased: [UserID] = []
        var outage: Unavailable?
    }

    let state = Mutex(State())
    let now: Timestamp

    init(now: Timestamp) {
        self.now = now
    }

    func check() throws {
        if let outage = state.withLock({ $0.outage }) { throw outage }
    }

    /// Forgets what the calls left behind.
    func forget() { state.withLock { $0 = State() } }

    var orders: [NotificationOrder] { state.withLock { $0.orders } }
}

extension MemoryPorts: DeviceDirectory {
    func register(_ device: DeviceRegistration, for user: UserID) async throws {
        try check()
        state.withLock { $0.registrations.append((device, user)) }
    }

    func registerAnonymously(_ device: DeviceRegistration) async throws {
        try check()
        state.withLock { $0.registrations.append((device, nil)) }
    }

    func unregister(token: String, provider: PushProvider, of user: UserID) async throws {
        try check()
        state.withLock { $0.removed.append((token, provider, user)) }
    }
}

extension MemoryPorts: Inbox {
    func page(of user: UserID, limit: Int, offset: Int) async throws -> (items: [InboxItem], total: Int) {
        try check()
        let all = state.withLock { $0.items[user] ?? [] }
        return (Array(all.dropFirst(offset).prefix(limit)), all.count)
    }

    func mark(_ id: MessageID, of user: UserID, read: Bool) async throws -> InboxItem? {
        try check()
        return state.withLock { state in
            guard let index = state.items[user]?.firstIndex(where: { $0.id == id }) else { return nil }
            state.items[user]?[index].readAt = read ? now : nil
            return state.items[user]?[index]
        }
    }

    func unreadCount(of user: UserID) async throws -> Int {
        try check()
        return state.withLock { ($0.items[user] ?? []).count { $0.readAt == nil } }
    }

    func markAllRead(of user: UserID) async throws -> Int {
        let unread = try await unreadCount(of: user)
        state.withLock { state in
            for index in (state.items[user] ?? []).indices { state.items[user]?[index].readAt = now }
        }
        return unread
    }
}

extension MemoryPorts: PreferenceBook {
    func preferences(of user: UserID) async throws -> UserPreferences {
        try check()
        return state.withLock { $0.preferences[user] ?? UserPreferences() }
    }

    func change(_ change: PreferenceChange, of user: UserID) async throws -> UserPreferences? {
        try check()
        if change.timezone == "Mars/Olympus" { return nil }
        return state.withLock { state in
            var preferences = state.preferences[user] ?? UserPreferences()
            for (category, isOn) in change.switches {
                preferences.categories[category, default: .init()].isEnabled = isOn
            }
            if let permission = change.permission { preferences.permission = permission.rawValue }
            if let timezone = change.timezone { preferences.timezone = timezone }
            if let language = change.language { preferences.language = language }
            if let silence = change.silenceUntil { preferences.silenceUntil = silence }
            state.preferences[user] = preferences
            return preferences
        }
    }

    func forgetHistory(of user: UserID) async throws {
        try check()
        state.withLock { $0.preferences[user]?.silenceUntil = nil }
    }
}

extension MemoryPorts: NotificationDoor {
    func enqueue(_ orders: [NotificationOrder]) async throws -> [NotificationReceipt] {
        try check()
        return state.withLock { state in
            orders.map { order in
                let isDuplicate = state.orders.contains { $0.messageID == order.messageID }
                if !isDuplicate { state.orders.append(order) }
                return NotificationReceipt(
                    messageID: order.messageID,
                    jobID: order.messageID.description,
                    isDuplicate: isDuplicate
                )
            }
        }
    }
}

extension MemoryPorts {
    func takeBack(_ ids: [MessageID]) async throws -> WithdrawnNotification {
        try check()
        return state.withLock { state in
            if let withdrawal = state.withdrawal { return withdrawal }
            state.moveMeanwhile(ids)
            guard let index = state.orders.firstIndex(where: { ids.contains($0.messageID) }) else { return .missing }
            return .done(state.orders.remove(at: index).messageID)
        }
    }

    func move(_ ids: [MessageID], to newID: MessageID, due: Timestamp) async throws -> WithdrawnNotification {
        try check()
        return state.withLock { state in
            if let withdrawal = state.withdrawal { return withdrawal }
            state.moveMeanwhile(ids)
            guard let index = state.orders.firstIndex(where: { ids.contains($0.messageID) }) else { return .missing }
            let old = state.orders[index].messageID
            state.orders[index].messageID = newID
            state.orders[index].scheduledFor = due
            return .done(old)
        }
    }
}

extension MemoryPorts.State {
    /// Does what another request to move does.
    fileprivate mutating func moveMeanwhile(_ ids: [MessageID]) {
        guard let newID = movedMeanwhile, let order = orders.firstIndex(where: { ids.contains($0.messageID) }),
            let book = schedules.firstIndex(where: { !$0.schedule.ids.filter(ids.contains).isEmpty })
        else { return }
        movedMeanwhile = nil
        orders[order].messageID = newID
        schedules[book].schedule.ids.insert(newID, at: 0)
    }
}

extension MemoryPorts: ScheduleBook {
    func record(_ orders: [NotificationOrder], credential: String) async throws {
        try check()
        state.withLock { state in
            for order in orders {
                let schedule = ScheduledNotification(
                    ids: [order.messageID],
                    userID: order.job.userID.rawValue,
                    category: order.job.category.rawValue,
                    isCancelled: false
                )
                state.schedules.append((credential, schedule))
            }
        }
    }

    func schedule(of id: MessageID, credential: String) async throws -> ScheduledNotification? {
        try check()
        return state.withLock { state in
            state.schedules.first { $0.credential == credential && $0.schedule.ids.contains(id) }?.schedule
        }
    }

    func addMove(of id: MessageID, to newID: MessageID, due: Timestamp) async throws -> Bool {
        state.withLock { state in
            guard let index = state.schedules.firstIndex(where: { $0.schedule.ids.contains(id) }) else { return false }
            state.schedules[index].schedule.ids.insert(newID, at: 0)
            return true
        }
    }

    func hasBegun(_ ids: [MessageID]) async throws -> Bool {
        state.withLock { !$0.begun.isDisjoint(with: ids) }
    }

    func callBack(_ ids: [MessageID], before: Timestamp, reason: String, isFinal: Bool, event: DeliveryEvent?)
        async throws
    {
        state.withLock { state in
            state.calledBack.append((ids, reason, event))
            guard isFinal else { return }
            for index in state.schedules.indices where !Set(state.schedules[index].schedule.ids).isDisjoint(with: ids) {
                state.schedules[index].schedule.isCancelled = true
            }
        }
    }
}

extension MemoryPorts: IdempotencyLedger {
    func begin(credential: String, key: String, fingerprint: String, ids: [MessageID]) async throws
        -> IdempotencyVerdict
    {
        state.withLock { state in
            let name = credential + " " + key
            guard let record = state.records[name] else {
                state.records[name] = (fingerprint, ids, nil, false)
                return .proceed(ids)
            }
            if record.fingerprint != fingerprint { return .mismatch }
            if let answer = record.answer { return .replay(answer) }
            guard record.isFree else { return .running }
            state.records[name]?.isFree = false
            return .proceed(record.ids)
        }
    }

    func finish(credential: String, key: String, answer: RecordedAnswer) async throws {
        state.withLock { $0.records[credential + " " + key]?.answer = answer }
    }

    func release(credential: String, key: String) async throws {
        state.withLock { $0.records[credential + " " + key]?.isFree = true }
    }
}

extension MemoryPorts: MessageStories {
    func story(of message: MessageID) async throws -> MessageStory? {
        try check()
        return state.withLock { $0.stories.first { $0.messageID == message } }
    }

    func stories(of user: UserID, limit: Int) async throws -> [MessageStory] {
        try check()
        return state.withLock { Array($0.stories.filter { $0.userID == user.rawValue }.prefix(limit)) }
    }
}

extension MemoryPorts: PersonalData {
    func page(of user: UserID, limit: Int, offset: Int) async throws -> PersonalDataPage {
        try check()
        return PersonalDataPage(tables: [("devices", [["user_id": .string(user.rawValue)]])], hasNext: false)
    }

    func erase(_ user: UserID) async throws -> RequestedErasure {
        try check()
        state.withLock { $0.erased.append(user) }
        return RequestedErasure(userID: user, requestedAt: now, completesAt: now + .seconds(60))
    }
}

extension MemoryPorts: CategoryVoice {
    func words(for user: UserID) async throws -> VoiceAnswer {
        try check()
        return state.withLock { $0.voice }
    }
}

extension MemoryPorts: ActivityLog {
    func record(_ reports: [ActivityReport]) async throws {
        try check()
        state.withLock { $0.activity += reports }
    }
}

extension MemoryPorts: RecipientReading, PushSending, WeeklyCaps {
    func recipients(for queries: [RecipientQuery]) async throws -> RecipientBatch {
        try check()
        let recipient = state.withLock { $0.recipient }
        return RecipientBatch(now: now, recipients: queries.map { _ in recipient })
    }

    func send(_ push: DevicePush, completion: @escaping @Sendable (SendResult) -> Void) {
        state.withLock { $0.pushes.append(push) }
        completion(push.device.id == 1 ? .accepted : .dead(reason: "Unregistered", at: nil))
    }

    func usage(of user: UserID, categories: [CategoryID], weekKey: String) async throws -> CapUsage {
        state.withLock { $0.usage }
    }

    func clear(user: UserID, categories: [CategoryID], weekKeys: [String]) async throws {
        state.withLock { state in
            state.cleared.append(user)
            state.clearedWeeks = weekKeys
        }
    }
}
