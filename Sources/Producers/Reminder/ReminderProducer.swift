package import Kernel
package import NotificationBus
import NotificationContract
package import Notifications
package import Observability
import PostgresClient
package import Store

/// Reminds users who have been away, at most once in an ISO week (P1 to P4).
///
/// A run goes through the zones in which it is day. For each page of users it claims their weeks in the database, enqueues, and marks
/// what was enqueued: a run that dies in between leaves claims, which the next one takes up with the same message ids. So a run may
/// be repeated, doubled or missed at will; each one does what is due at its time.
package struct ReminderProducer: Sendable {
    /// Users claimed and enqueued together: bounds memory.
    private static let page = 1000
    /// Pages claimed, enqueued and marked at a time, so that database and queue both have work.
    private static let pagesAtOnce = 3
    /// Zones that are read at a time: looking users up is what takes the database longest.
    private static let zonesAtOnce = 2
    /// The connections that a run has use for.
    package static let connections = pagesAtOnce + zonesAtOnce
    /// A claim that is not marked after so long belongs to a run that died.
    private static let claimPatience = Duration.seconds(5 * 60)

    private let store: ReminderStore
    private let bus: NotificationBus
    private let message: ReminderMessage
    private let category: Category
    private let clock: @Sendable () async throws -> Timestamp
    private let telemetry: Telemetry

    /// - Parameters:
    ///   - category: the registry's entry, for window and default.
    ///   - clock: gives the moment a run goes by; `nil` for the database's.
    package init(
        store: ReminderStore,
        bus: NotificationBus,
        identity: MessageIdentity,
        category: Category,
        clock: (@Sendable () async throws -> Timestamp)? = nil,
        telemetry: Telemetry
    ) {
        self.store = store
        self.bus = bus
        self.category = category
        self.clock = clock ?? { try await store.now() }
        self.telemetry = telemetry
        message = ReminderMessage(identity: identity)
    }

    /// Does what is due now.
    /// - Parameter shouldStop: asked between pages; what was begun is finished.
    /// - Throws: when database or queue do not answer. What was claimed by then is taken up by a later run.
    package func run(shouldStop: @escaping @Sendable () -> Bool = { false }) async throws -> ReminderReport {
        let now = try await clock()
        var report = ReminderReport()
        report.released = try await store.releaseExpired(category: category.id.rawValue, now: now)
        let zones = try await openZones(at: now)
        report.zones = zones.count
        try await takeUp(zones, now, &report)
        try await sweep(zones, now, shouldStop, &report)
        log(report)
        return report
    }

    /// The zones in which the category's window is open.
    func openZones(at now: Timestamp) async throws -> [ReminderZone] {
        try await store.zones(at: now).filter { category.window?.contains(localMinute: $0.localMinute) ?? true }
    }

    func search(_ zone: ReminderZone, _ now: Timestamp) -> ReminderSearch {
        let absence = ReminderRule.absence(at: now)
        return ReminderSearch(
            zone: zone,
            now: now,
            after: absence.after,
            upTo: absence.upTo,
            category: category.id.rawValue,
            isEnabledByDefault: category.isEnabledByDefault
        )
    }

    // MARK: What a dead run left

    private func takeUp(_ zones: [ReminderZone], _ now: Timestamp, _ report: inout ReminderReport) async throws {
        guard !zones.isEmpty else { return }
        while true {
            let abandoned = try await store.takeUp(
                claimedBefore: now - Self.claimPatience,
                zones: zones,
                now: now,
                limit: Self.page
            )
            // Whoever came back in the meantime is not reminded; the week counts as used, because the message may have left.
            let requests = abandoned.compactMap { claim in
                message.request(claim.userID, id: claim.messageID, lastActivity: claim.lastActivity, now: now)
            }
            try await enqueue(requests, &report)
            try await store.markEnqueued(abandoned.map { ($0.userID, $0.weekKey) })
            report.takenUp += abandoned.count
            guard abandoned.count == Self.page else { return }
        }
    }

    // MARK: The sweep

    /// A page of one zone.
    private struct Page: Sendable {
        let zone: ReminderZone
        let found: [ReminderSearch.Found]
    }

    /// Reads pages ahead while earlier ones are claimed and enqueued.
    private func sweep(
        _ zones: [ReminderZone],
        _ now: Timestamp,
        _ shouldStop: @escaping @Sendable () -> Bool,
        _ report: inout ReminderReport
    ) async throws {
        let pages = BoundedChannel<Page>(capacity: 2)
        async let reading: Void = read(zones, now, into: pages)
        // Whatever happens, nobody waits for room in it any more.
        defer { pages.finish() }
        try await remindAll(pages, now, shouldStop, &report)
        pages.finish()
        try await reading
    }

    private func remindAll(
        _ pages: BoundedChannel<Page>,
        _ now: Timestamp,
        _ shouldStop: @Sendable () -> Bool,
        _ report: inout ReminderReport
    ) async throws {
        report = try await withThrowingTaskGroup(of: ReminderReport.self) { [report] group in
            var report = report
            var running = 0
            while let page = await pages.receive() {
                report.isStopped = shouldStop()
                if report.isStopped { break }
                if running == Self.pagesAtOnce, let done = try await group.next() {
                    report.add(done)
                    running -= 1
                }
                group.addTask { try await remind(page, now) }
                running += 1
            }
            for try await done in group { report.add(done) }
            return report
        }
    }

    private func read(_ zones: [ReminderZone], _ now: Timestamp, into pages: BoundedChannel<Page>) async throws {
        defer { pages.finish() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, zone) in zones.enumerated() {
                if index >= Self.zonesAtOnce { try await group.next() }
                group.addTask { try await read(zone, now, into: pages) }
            }
            try await group.waitForAll()
        }
    }

    private func read(_ zone: ReminderZone, _ now: Timestamp, into pages: BoundedChannel<Page>) async throws {
        for try await found in DuePages(store: store, search: search(zone, now), size: Self.page) {
            guard await pages.send(Page(zone: zone, found: found)) else { return }
        }
    }

    private func remind(_ page: Page, _ now: Timestamp) async throws -> ReminderReport {
        var report = ReminderReport()
        let activity = Dictionary(
            page.found.map { ($0.userID, $0.lastActivity) },
            uniquingKeysWith: { first, _ in first }
        )
        let wanted = page.found.compactMap { user in
            message.claim(user.userID, lastActivity: user.lastActivity, zone: page.zone, now: now)
        }
        let claims = try await store.claim(wanted, at: now)
        report.due += wanted.count
        report.alreadyClaimed += wanted.count - claims.count
        let requests = claims.compactMap { claim in
            activity[claim.userID].flatMap {
                message.request(claim.userID, id: claim.messageID, lastActivity: $0, now: now)
            }
        }
        try await enqueue(requests, &report)
        try await store.markEnqueued(claims.map { ($0.userID, $0.weekKey) })
        return report
    }

    private func enqueue(_ requests: [NotificationRequest], _ report: inout ReminderReport) async throws {
        guard !requests.isEmpty else { return }
        let receipts = try await bus.enqueueNotifications(requests)
        report.enqueued += receipts.count
        report.duplicates += receipts.count(where: \.isDuplicate)
    }

    private func log(_ report: ReminderReport) {
        telemetry.logger.info(
            "reminders enqueued",
            [
                "zones": .integer(report.zones), "due": .integer(report.due), "enqueued": .integer(report.enqueued),
                "duplicates": .integer(report.duplicates), "alreadyClaimed": .integer(report.alreadyClaimed),
                "takenUp": .integer(report.takenUp), "released": .integer(report.released),
                "stopped": .bool(report.isStopped),
            ]
        )
    }
}
