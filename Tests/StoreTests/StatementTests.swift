import Kernel
import Notifications
import PostgresClient
import TestSupport
import Testing

@testable import Store

/// Every statement is prepared against the real schema, so that a column that is gone shows here and not in production.
struct StatementTests {
    @Test func `every statement fits the schema`() async throws {
        let statements = try all()
        try await withMigratedDatabase { database in
            for (number, statement) in statements.enumerated() {
                _ = try await database.pool.query(
                    "PREPARE p\(unescaped: String(number)) AS \(unescaped: statement.text)"
                )
            }
        }
        #expect(statements.count == Set(statements.map(\.text)).count)
    }

    private func all() throws -> [SQL] {
        let user = try #require(UserID("u"))
        let now = SystemWallClock().now
        let id = MessageIDGenerator(clock: SystemWallClock()).next()
        var device = DeviceRecord(
            deviceID: "d",
            provider: .fcm,
            platform: "android",
            token: "t",
            environment: .production,
            topic: "app"
        )
        let full = try #require(DeviceSQL.save(device, user: user))
        device.deviceID = nil
        let byToken = try #require(DeviceSQL.save(device, user: user))
        (device.deviceID, device.token) = ("d", nil)
        let fields = try #require(DeviceSQL.save(device, user: user))
        let query = RecipientStore.Query(
            messageID: id,
            userID: user,
            category: "c",
            sourceEntityID: nil,
            enqueuedAt: now,
            openingMinute: nil
        )
        let row = MessageStore.Row(
            id: id,
            userID: user,
            category: "c",
            title: "",
            body: "",
            deeplinkURL: "",
            metadata: nil,
            sourceEntityID: nil,
            batchReference: nil,
            language: nil,
            jobID: "",
            weekKey: nil,
            isCapOpen: false,
            enqueuedAt: now,
            dueAt: now
        )
        let record = OutcomeStore.Record(
            messageID: id,
            userID: "u",
            category: "c",
            status: nil,
            reason: nil,
            deliveries: [:],
            acceptedAt: nil,
            clearsWeek: false,
            events: []
        )
        let upkept = UpkeepStore.Message(id: id, userID: "u", category: "c", weekKey: nil, keepsSlot: true)
        let debt = SlotDebtStore.Debt(messageID: id, userID: "u", category: "c", weekKey: "2026-W49")
        let erasure = PersonalDataStore.Erasure(userID: user, requestedAt: now, dueAt: now, passes: 0)
        return [
            RecipientStore.statement([query]), RecipientStore.statement([query], countsUnread: true),
            MessageStore.insert([row]), MessageStore.reopen([row]), SlotDebtStore.owe([debt]),
            SlotDebtStore.forget([(id, "2026-W49")]), SlotDebtStore.lock(limit: 1),
            OutcomeStore.statement([record]), OutcomeStore.lockRows([id]), OutcomeStore.knownEvents([id], since: now),
            UpkeepStore.lost(ages: ["c": .seconds(1)], lookBack: .seconds(1), limit: 1), UpkeepStore.endLost([id]),
            UpkeepStore.uncounted(limit: 1), UpkeepStore.markCounted([upkept]), UpkeepStore.stillHolding([upkept]),
            UpkeepStore.holders(after: nil, limit: 1),
            full, byToken, fields, DeviceSQL.saveAnonymous(device), DeviceSQL.preparedOwner(of: device, user: user),
            DeviceSQL.lockPreferences(of: ["u"]), DeviceSQL.removeOthers(device, user: user),
            DeviceSQL.remove(token: "t", provider: .apns, of: user), DeviceSQL.revokePermission(of: user),
            DeviceSQL.invalidate(id: 1, of: user, token: "t", before: now, reason: ""),
            DeviceSQL.refresh(["u"], zone: nil, of: user),
            PreferenceSQL.read(user), PreferenceSQL.change(.init(), of: user), PreferenceSQL.forgetHistory(of: user),
            PreferenceSQL.setSwitch(true, category: "c", of: user),
            InboxSQL.page(of: user, limit: 1, offset: 0), InboxSQL.unreadCount(of: user),
            InboxSQL.mark(id, of: user, read: true), InboxSQL.markAllRead(of: user),
            StorySQL.newest(of: user, limit: 1), StorySQL.rows([id], user: nil), StorySQL.append([]),
            StorySQL.events([id], user: nil, limit: 1),
            IdempotencyStore.claim(credential: "", key: "", fingerprint: "", messageIDs: []),
            IdempotencyStore.read(credential: "", key: ""), IdempotencyStore.release(credential: "", key: ""),
            IdempotencyStore.finish(credential: "", key: "", status: 200, response: ""),
            CancellationStore.cancel(.user, key: "", before: now, reason: ""),
            ScheduleSQL.record([.init(messageID: id, userID: user, category: "c", dueAt: now)], credential: ""),
            ScheduleSQL.find(id, credential: ""), ScheduleSQL.addMove(of: id, to: id, due: now),
            ScheduleSQL.markCancelled([id]), ScheduleSQL.hasBegun([id]), ScheduleSQL.dueTime(of: id),
            PersonalDataSQL.begin(user, after: 1), PersonalDataSQL.jobIDs(of: user, limit: 1),
            PersonalDataSQL.recentWeeks, PersonalDataSQL.finishPass(erasure, interval: 1),
            PersonalDataSQL.remove(erasure, passes: 1), PersonalDataSQL.claimDue(limit: 1, lease: 1),
            TimeZoneStore.known(""), TimeZoneStore.refresh,
            ActivityStore.record([.init(userID: user, at: now)]), ActivityStore.read(user), ActivityStore.mendZones,
        ]
            + PersonalTable.all.flatMap { [$0.exported?(user, 1, 0), $0.erased(user, now)].compactMap(\.self) }
            + appStore(now: now) + reminders(user, id, now) + (try campaigns(user, now))
            + (try liveActivities(device, user))
    }

    private func campaigns(_ user: UserID, _ now: Timestamp) throws -> [SQL] {
        let id = CampaignID(UUIDBits(high: 1, low: 1))
        let texts = try #require(CampaignTexts([.english: .init(body: "b")], fallback: .english))
        let audience = CampaignAudience(
            languages: [.english],
            zones: ["UTC"],
            platforms: ["ios"],
            activeWithinDays: 1,
            inactiveForDays: 1,
            usesList: true
        )
        let content = CampaignContent(name: "n", texts: texts, audience: audience, pace: 1)
        let campaign = Campaign(
            id: id,
            content: content,
            state: .draft,
            version: 1,
            createdBy: "c",
            createdAt: now,
            updatedAt: now
        )
        var plain = campaign
        plain.content.audience = CampaignAudience()
        let plan = CampaignFanOutStore.FreezePlan(defaultZone: "UTC")
        return [
            CampaignSQL.create(id, content, by: ""), CampaignSQL.edit(id, content, version: 1), CampaignSQL.find(id),
            CampaignSQL.list(state: nil, limit: 1, offset: 0), CampaignSQL.remove(id), CampaignSQL.lockForEditing(id),
            CampaignSQL.clearList(id), CampaignSQL.addToList(id, []), CampaignSQL.listSize(id),
            CampaignSQL.schedule(id, startsAt: now, localTime: nil, version: nil), CampaignSQL.unschedule(id),
            CampaignSQL.stop(id),
            CampaignSQL.stopChunks(id), CampaignSQL.note(id, "", by: "", detail: nil),
            CampaignSQL.audit(id, limit: 1, offset: 0), CampaignSQL.progress(id),
            CampaignSQL.outcomes(startedAt: now), CampaignSQL.open, CampaignSQL.isWaiting(id, user),
            CampaignSQL.unknownZones([]), AudienceSQL.contains(user, audience, of: id, tags: nil),
            CampaignSQL.languages(of: [user]), AudienceSQL.tags,
            AudienceSQL.counts(audience, of: id, tags: ["en"], isOnByDefault: true),
            FanOutSQL.due, FanOutSQL.takeDue(id), FanOutSQL.startInstant,
            FanOutSQL.freeze(campaign, tags: ["en"], plan, at: now), FanOutSQL.freeze(plain, tags: nil, plan, at: now),
            FanOutSQL.begin(id, at: now), FanOutSQL.handOut(limit: 1, chunkSize: 10), FanOutSQL.chunk(id, 1, .always),
            FanOutSQL.postpone(id, 1, until: now),
            FanOutSQL.recipients(id, 1), FanOutSQL.takePlace(id, for: .zero), FanOutSQL.pacedUntil(id),
            FanOutSQL.finishChunk(id, 1), FanOutSQL.finish,
        ]
    }

    private func reminders(_ user: UserID, _ id: MessageID, _ now: Timestamp) -> [SQL] {
        let zone = ReminderZone(name: "UTC", localMinute: 0, weekKey: "", hour: "")
        let search = ReminderSearch(
            zone: zone,
            now: now,
            after: now,
            upTo: now,
            category: "c",
            isEnabledByDefault: true
        )
        let claim = ReminderClaim(userID: user, weekKey: "", messageID: id, step: 1)
        return [
            ReminderSQL.zones(at: now), ReminderSQL.due(search, behind: nil, limit: 1),
            ReminderSQL.claim([claim], at: now), ReminderSQL.markEnqueued([("u", "")]),
            ReminderSQL.takeUp(claimedBefore: now, zones: [zone], now: now, limit: 1),
            ReminderSQL.release(category: "c", now: now), ReminderSQL.census(search, open: [zone]),
            ReminderSQL.removeOld,
        ]
    }

    private func liveActivities(_ device: DeviceRecord, _ user: UserID) throws -> [SQL] {
        let stream = try #require(StreamID("s"))
        let session = LiveActivitySession(streamID: stream, deviceID: "d", token: "t")
        return [
            DeviceSQL.saveOtherTokens(device, user: user, row: 1), LiveActivitySQL.removeOthers(session, user: user),
            LiveActivitySQL.save(session, user: user, environment: .production, topic: "app"),
            LiveActivitySQL.trim(user, keeping: 1),
            LiveActivitySQL.remove(stream: stream, device: "d", of: user),
            LiveActivitySQL.page(of: stream, users: nil, after: nil, limit: 1),
            LiveActivitySQL.startTargets(of: [], eachAtMost: 1), LiveActivitySQL.end([], of: stream),
            LiveActivitySQL.forgetStartTokens([]), PushTargetStore.wakeable(of: user, device: nil),
            PushTargetStore.callable(of: user, device: nil), PushTargetStore.forgetCallTokens([]),
        ]
    }

    private func appStore(now: Timestamp) -> [SQL] {
        let uuid = UUIDBits(high: 1, low: 2)
        let record = SubscriptionRecord(environment: "production", originalTransactionID: "1")
        let notification = AppStoreOutbox.Notification(
            environment: "production",
            uuid: uuid,
            type: "",
            subtype: nil,
            originalTransactionID: nil,
            signedAt: now,
            facts: [:],
            signedPayload: ""
        )
        return [
            AppStoreOutbox.keep(notification), AppStoreOutbox.owner(environment: "", id: ""),
            AppStoreOutbox.keepLink(environment: "", id: "", user: "", transaction: [:]),
            AppStoreOutbox.overdue(seconds: 1, limit: 1), AppStoreOutbox.overdueLinks(seconds: 1, limit: 1),
            SubscriptionSQL.notification(environment: "", uuid: uuid),
            SubscriptionSQL.settle(environment: "", uuid: uuid, .init(state: "", outcome: "")),
            SubscriptionSQL.make(environment: "", id: ""), SubscriptionSQL.lock(environment: "", id: ""),
            SubscriptionSQL.save(record), SubscriptionSQL.user(spelled: []), SubscriptionSQL.owned(by: ""),
            SubscriptionSQL.audience(of: "", at: nil),
            SubscriptionSQL.hasOther(than: record, user: "", group: "", at: now),
            SubscriptionSQL.expiring(now: now, defaultZone: "", after: nil, limit: 1),
            SubscriptionSQL.isExpiring("", now: now, defaultZone: ""),
            SubscriptionSQL.link(environment: "", id: "", user: ""),
            SubscriptionSQL.settleLink(environment: "", id: "", user: "", isGranted: true),
            SubscriptionSQL.unlinked(environment: "", id: ""),
        ]
    }
}
