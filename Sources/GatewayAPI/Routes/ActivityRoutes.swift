import HTTPServer
import Kernel
import Notifications

/// Reports of an impulse or an entry (G9): by the app for its user, or by a backend for many. Nothing of what the user wrote is
/// asked for or kept, only that there was something and when.
struct ActivityRoutes: Sendable {
    /// The largest batch.
    static let batchLimit = 1000
    /// How far a clock may be ahead of ours: such a moment counts as now, a later one is refused.
    private static let leeway = Duration.seconds(5 * 60)
    private static let path = "/api/v1/activities"

    /// What counts as activity.
    private enum Kind: String, CaseIterable {
        case impulse, entry
    }

    let log: any ActivityLog
    let clock: any WallClock

    var endpoints: [Endpoint] {
        [
            Endpoint(
                .post,
                Self.path,
                access: .userOrService(.activityWrite),
                summary: "Report activity: one of the bearer's user, or up to \(Self.batchLimit) by a backend",
                limits: RouteLimits(bodyBytes: 512 * 1024)
            ) { request, caller in
                let reports =
                    if case .user(let user) = caller { [try single(request, user)] } else { try batch(request) }
                try await log.record(reports)
                return .data(["accepted": .integer(reports.count)])
            }
            .described(.reportActivity)
        ]
    }

    /// `{"type":"impulse","occurredAt":"2026-12-01T09:30:00Z"}`
    private func single(_ request: HTTPRequest, _ user: UserID) throws(Problem) -> ActivityReport {
        var body = try BodyReader(request)
        if body.has("userId") || body.has("activities") {
            body.report("", "of a user's own report names neither \"userId\" nor \"activities\"")
        }
        let at = moment(&body)
        try body.finish()
        return ActivityReport(userID: user, at: at)
    }

    /// `{"activities":[{"userId":"u1","type":"entry","occurredAt":"2026-12-01T09:30:00Z"}]}`, all or none.
    private func batch(_ request: HTTPRequest) throws(Problem) -> [ActivityReport] {
        let body = try request.json()
        guard let entries = body["activities"]?.arrayValue else {
            throw .unacceptable([.init(pointer: "/activities", detail: "must be an array of activities")])
        }
        guard (1...Self.batchLimit).contains(entries.count) else {
            let detail = "must hold 1 to \(Self.batchLimit) activities, not \(entries.count)"
            throw .unacceptable([.init(pointer: "/activities", detail: detail)])
        }
        var reports: [ActivityReport] = []
        var faults: [Problem.Fault] = []
        for (index, entry) in entries.enumerated() {
            let pointer = "/activities/\(index)"
            guard entry.members != nil else {
                faults.append(.init(pointer: pointer, detail: "must be an object, not \(entry.kind)"))
                continue
            }
            var fields = try BodyReader(entry)
            let user = fields.member("userId")?.stringValue.flatMap(UserID.init)
            if user == nil { fields.report("userId", "must be \(UserID.rule)") }
            let at = moment(&fields)
            faults += fields.faults.map { .init(pointer: pointer + $0.pointer, detail: $0.detail) }
            if let user { reports.append(ActivityReport(userID: user, at: at)) }
        }
        guard faults.isEmpty else { throw .unacceptable(Array(faults.prefix(100))) }
        return reports
    }

    /// The moment of one activity, now when it is not told.
    private func moment(_ fields: inout BodyReader) -> Timestamp {
        if fields.choice("type", Kind.self) == nil, fields.member("type") == nil {
            fields.report("type", "must be one of \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let now = clock.now
        guard let at = fields.moment("occurredAt") else { return now }
        if at > now + Self.leeway {
            fields.report("occurredAt", "lies in the future")
        }
        return min(at, now)
    }
}
