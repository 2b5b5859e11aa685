package import Notifications
package import Store

/// Idempotency keys in PostgreSQL.
package struct StoreIdempotencyLedger: IdempotencyLedger {
    private let store: IdempotencyStore

    package init(_ store: IdempotencyStore) {
        self.store = store
    }

    package func begin(
        credential: String,
        key: String,
        fingerprint: String,
        ids: [MessageID]
    ) async throws -> IdempotencyVerdict {
        let verdict = try await asking {
            try await store.begin(
                credential: credential,
                key: key,
                fingerprint: fingerprint,
                messageIDs: ids.map(\.bits)
            )
        }
        return switch verdict {
        // Only ids of ours are ever recorded, so none is lost here.
        case .proceed(let bits): .proceed(bits.compactMap(MessageID.init))
        case .running: .running
        case .done(let status, let response): .replay(RecordedAnswer(status: status, body: response))
        case .mismatch: .mismatch
        }
    }

    package func finish(credential: String, key: String, answer: RecordedAnswer) async throws {
        try await asking {
            try await store.finish(
                credential: credential,
                key: key,
                status: answer.status,
                response: answer.body
            )
        }
    }

    package func release(credential: String, key: String) async throws {
        try await asking { try await store.release(credential: credential, key: key) }
    }
}
