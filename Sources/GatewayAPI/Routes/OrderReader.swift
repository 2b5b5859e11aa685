import HTTPServer
package import Kernel
package import Notifications

/// What a notification in a request asks for, before it has an id.
struct OrderDraft: Sendable, Equatable {
    let job: NotificationJob
    let scheduledFor: Timestamp?
    let priority: Int?

    func order(_ id: MessageID) -> NotificationOrder {
        NotificationOrder(job: job, messageID: id, scheduledFor: scheduledFor, priority: priority)
    }

    var isLiteral: Bool {
        if case .literal = job.text { return true }
        return job.title != nil
    }
}

/// Reads notifications from a request: the job's own fields by the rules the engine uses too, and when and how urgently.
package struct OrderReader: Sendable {
    /// BullMQ's range of priorities.
    private static let priorities = 1...2_097_151

    private let parser: NotificationParser
    private let clock: any WallClock

    package init(parser: NotificationParser, clock: any WallClock) {
        self.parser = parser
        self.clock = clock
    }

    /// Reads one notification.
    /// - Parameter pointer: where it stands in the request.
    /// - Throws: every fault found.
    func read(_ value: JSONValue, at pointer: String = "") throws(FieldProblems) -> OrderDraft {
        var problems: [FieldProblem] = []
        var job: NotificationJob?
        do { job = try parser.parse(value, at: pointer) } catch { problems = error.problems }
        let scheduledFor = scheduledFor(value, pointer, &problems)
        let priority = priority(value, pointer, &problems)
        guard problems.isEmpty, let job else { throw FieldProblems(problems) }
        return OrderDraft(job: job, scheduledFor: scheduledFor, priority: priority)
    }

    private func scheduledFor(_ value: JSONValue, _ pointer: String, _ problems: inout [FieldProblem]) -> Timestamp? {
        guard let member = value["scheduledFor"], !member.isNull else { return nil }
        func report(_ message: String) {
            problems.append(
                FieldProblem(pointer: "\(pointer)/scheduledFor", reason: "invalid_schedule", message: message)
            )
        }
        guard let moment = member.stringValue.flatMap(Timestamp.init(rfc3339:)) else {
            report("must be an RFC 3339 time with an offset, such as 2026-12-01T09:30:00+01:00")
            return nil
        }
        if moment > clock.now + NotificationLimits.horizon {
            report("must lie within \(NotificationLimits.horizon.components.seconds / 86_400) days")
        }
        return moment
    }

    private func priority(_ value: JSONValue, _ pointer: String, _ problems: inout [FieldProblem]) -> Int? {
        guard let member = value["priority"], !member.isNull else { return nil }
        guard let number = member.integerValue.flatMap(Int.init(exactly:)), Self.priorities.contains(number) else {
            let range = "\(Self.priorities.lowerBound) to \(Self.priorities.upperBound)"
            problems.append(
                FieldProblem(
                    pointer: "\(pointer)/priority",
                    reason: "invalid_priority",
                    message: "must be a whole number from \(range)"
                )
            )
            return nil
        }
        return number
    }
}

extension Problem {
    /// 422 with the faults of notifications.
    init(_ problems: [FieldProblem]) {
        let faults = problems.prefix(Self.listedFaults).map { Fault(pointer: $0.pointer, detail: $0.message) }
        self = .unacceptable(faults, slug: Self.slug(problems))
    }

    /// More faults than this are not listed: nobody reads them.
    private static let listedFaults = 100

    private static func slug(_ problems: [FieldProblem]) -> String {
        problems.allSatisfy { $0.reason == "invalid_category" } ? "unknown-category" : "invalid-request"
    }
}
