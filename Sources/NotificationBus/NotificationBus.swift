package import JobQueue
package import Kernel
package import Notifications

/// The one door between producers and the platform: checks a notification and puts it on the queue.
///
/// Producers need to know nothing of pushes, caps or SQL; what happens to a notification after this is the engine's concern.
package struct NotificationBus: Sendable {
    /// The name of our jobs; the engine accepts any.
    package static let jobName = "notification"

    let queue: JobQueue
    private let registry: CategoryRegistry
    private let ids: MessageIDGenerator
    private let clock: any WallClock
    private let voucher: JobVoucher?

    /// - Parameter voucher: vouches for jobs with words of their own; without it they count as foreign.
    package init(
        queue: JobQueue,
        registry: CategoryRegistry,
        ids: MessageIDGenerator,
        clock: any WallClock = SystemWallClock(),
        voucher: JobVoucher? = nil
    ) {
        self.queue = queue
        self.registry = registry
        self.ids = ids
        self.clock = clock
        self.voucher = voucher
    }

    /// Enqueues one notification.
    /// - Throws: `FieldProblems` for what is wrong with the request, `JobQueueError` when the queue cannot be reached.
    package func enqueueNotification(_ request: NotificationRequest) async throws -> EnqueueReceipt {
        let receipts = try await enqueueNotifications([request])
        guard let receipt = receipts.first else { throw CancellationError() }
        return receipt
    }

    /// Enqueues many notifications, all or none of them as far as their contents are concerned: each is checked before the
    /// first is added.
    /// - Throws: `FieldProblems` with pointers `/notifications/<index>/…`, `JobQueueError` when the queue cannot be reached.
    package func enqueueNotifications(_ requests: [NotificationRequest]) async throws -> [EnqueueReceipt] {
        let now = clock.now
        var problems: [FieldProblem] = []
        var jobs: [NewJob] = []
        var messageIDs: [MessageID] = []
        jobs.reserveCapacity(requests.count)
        for (index, request) in requests.enumerated() {
            let pointer = requests.count == 1 ? "" : "/notifications/\(index)"
            do {
                let due = max(request.scheduledFor ?? now, now)
                let messageID = request.messageID ?? ids.next(at: due)
                jobs.append(try newJob(request, id: messageID, due: due, pointer: pointer, now: now))
                messageIDs.append(messageID)
            } catch {
                problems += error.problems
            }
        }
        guard problems.isEmpty else { throw FieldProblems(problems) }
        let results = try await queue.addBulk(jobs)
        return zip(messageIDs, results).map { messageID, result in
            EnqueueReceipt(messageID: messageID, jobID: result.id, isDuplicate: result.isDuplicate)
        }
    }

    private func newJob(
        _ request: NotificationRequest,
        id: MessageID,
        due: Timestamp,
        pointer: String,
        now: Timestamp
    ) throws(FieldProblems) -> NewJob {
        var problems: [FieldProblem] = []
        var queuePriority = 0
        do {
            queuePriority = try registry.category(request.job.category).queuePriority
        } catch {
            problems.append(
                FieldProblem(pointer: "\(pointer)/category", reason: "invalid_category", message: error.description)
            )
        }
        if case .literal(let body) = request.job.text, body.isBlank {
            problems.append(
                FieldProblem(pointer: "\(pointer)/body", reason: "invalid_body", message: "must not be empty")
            )
        }
        if let priority = request.priority {
            if (1...2_097_151).contains(priority) {
                queuePriority = priority
            } else {
                problems.append(
                    FieldProblem(
                        pointer: "\(pointer)/priority",
                        reason: "invalid_priority",
                        message: "must be 1 to 2097151"
                    )
                )
            }
        }
        if due - now > NotificationLimits.horizon {
            problems.append(
                FieldProblem(
                    pointer: "\(pointer)/scheduledFor",
                    reason: "invalid_schedule",
                    message: "must be at most 90 days ahead"
                )
            )
        }
        guard problems.isEmpty else { throw FieldProblems(problems) }
        return NewJob(
            name: Self.jobName,
            data: data(of: request.job),
            options: JobOptions(
                jobID: id.description,
                delay: due - now,
                priority: queuePriority,
                timestamp: now
            )
        )
    }

    /// The catalog's words need no voucher: a job can only name them.
    private func data(of job: NotificationJob) -> String {
        guard case .literal = job.text, let voucher else { return job.json }
        return voucher.vouch(for: job.json)
    }
}
