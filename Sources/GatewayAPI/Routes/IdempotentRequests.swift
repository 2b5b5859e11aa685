import HTTPServer
import Kernel
package import Notifications
package import Observability

/// Runs requests so that a repeat with the same key does nothing twice and is answered alike.
///
/// The key is claimed, with the message ids, before anything is enqueued. A repeat after a crash goes on with the same ids,
/// which the queue knows already.
package struct IdempotentRequests: Sendable {
    private let ledger: any IdempotencyLedger
    private let ids: MessageIDGenerator
    private let logger: Logger
    private let unrecorded: Counter

    package init(ledger: any IdempotencyLedger, ids: MessageIDGenerator, telemetry: Telemetry) {
        self.ledger = ledger
        self.ids = ids
        logger = telemetry.logger
        unrecorded = telemetry.metrics.counter(
            "gateway_idempotency_unrecorded_total",
            help: "Requests done whose answer could not be recorded; a repeat runs again with the same message ids."
        )
    }

    /// Runs `work`, or answers for it.
    /// - Parameters:
    ///   - key: `nil` runs the work without a record.
    ///   - dues: when the notifications are due, one message id each; `nil` for now.
    ///   - work: is given the ids; a thrown 422 is an answer worth recording, other errors are not.
    func run(
        _ request: HTTPRequest,
        _ body: JSONValue,
        _ credential: ServiceCredential,
        _ key: IdempotencyKey?,
        dues: [Timestamp?],
        work: ([MessageID]) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let fresh = dues.map { ids.next(due: $0) }
        guard let key = key?.text else { return try await work(fresh) }
        let fingerprint = RequestFingerprint.of(request, body)
        switch try await ledger.begin(credential: credential.id, key: key, fingerprint: fingerprint, ids: fresh) {
        case .mismatch: throw Problem.idempotencyMismatch
        case .running: throw Problem.idempotencyRunning
        case .replay(let answer): return try answer.replayed()
        case .proceed(let claimed):
            let response: HTTPResponse
            do {
                response = try await work(claimed)
            } catch let problem as Problem where problem.status == 422 {
                await record(RecordedAnswer(problem), credential, key)
                throw problem
            } catch {
                await release(credential, key)
                throw error
            }
            await record(RecordedAnswer(response), credential, key)
            return response
        }
    }

    private func record(_ answer: RecordedAnswer, _ credential: ServiceCredential, _ key: String) async {
        do {
            try await ledger.finish(credential: credential.id, key: key, answer: answer)
        } catch {
            // The work is done and its ids are kept: a repeat finds its jobs in the queue.
            unrecorded.increment()
            logger.warning("idempotent answer not recorded", ["error": .error(error)])
        }
    }

    private func release(_ credential: ServiceCredential, _ key: String) async {
        do {
            try await ledger.release(credential: credential.id, key: key)
        } catch {
            // The claim runs out by itself.
            logger.warning("idempotency key not released", ["error": .error(error)])
        }
    }
}

extension RecordedAnswer {
    init(_ response: HTTPResponse) {
        self.init(status: response.status, body: String(decoding: response.body, as: UTF8.self))
    }

    init(_ problem: Problem) {
        let faults = problem.faults.map { fault -> JSONValue in
            ["pointer": .string(fault.pointer), "detail": .string(fault.detail)]
        }
        let body: JSONValue = [
            "slug": .string(problem.slug), "title": .string(problem.title), "detail": .optional(problem.detail),
            "faults": .array(faults),
        ]
        self.init(status: problem.status, body: body.text)
    }

    /// The answer again, marked as such. A problem is written anew, with the id of the request that asks now.
    func replayed() throws -> HTTPResponse {
        let mark: HTTPHeaders = ["idempotency-replayed": "true"]
        guard status >= 400 else { return .json(Array(body.utf8), status: status, headers: mark) }
        let value = try JSONValue(parsing: body)
        return .problem(
            Problem(
                status: status,
                slug: value["slug"]?.stringValue ?? "invalid-request",
                title: value["title"]?.stringValue ?? "Unprocessable request",
                detail: value["detail"]?.stringValue,
                faults: (value["faults"]?.arrayValue ?? []).map {
                    .init(pointer: $0["pointer"]?.stringValue ?? "", detail: $0["detail"]?.stringValue ?? "")
                },
                headers: mark
            )
        )
    }
}

extension Problem {
    static let idempotencyMismatch = Problem(
        status: 422,
        slug: "idempotency-key-reused",
        title: "Unprocessable request",
        detail: "This Idempotency-Key was used for another request."
    )

    static let idempotencyIncomplete = Problem(
        status: 409,
        slug: "idempotency-key-incomplete",
        title: "Conflict",
        detail: "The first request with this Idempotency-Key was refused and left no message ids. Use a new key."
    )

    static let idempotencyRunning = Problem(
        status: 409,
        slug: "idempotency-key-running",
        title: "Conflict",
        detail: "A request with this Idempotency-Key is still running.",
        headers: ["retry-after": "1"]
    )
}
