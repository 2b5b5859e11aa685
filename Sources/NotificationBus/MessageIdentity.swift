package import Kernel
package import Notifications

/// Finds the message id of a job: the job id itself where it is one, else an id derived from what identifies the job.
///
/// A derived id is the same on every run, so a foreign producer's job is told apart and found again like one of ours.
package struct MessageIdentity: Sendable {
    /// Ids whose instant lies further from the due time than this are derived too: their month may have no partition.
    private static let plausible = Duration.seconds(27 * 86_400)

    private let scope: [UInt8]
    private let sha256: @Sendable ([UInt8]) -> [UInt8]

    /// - Parameter sha256: the digest of some bytes.
    package init(prefix: String, queue: String, sha256: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        scope = Array(prefix.utf8) + [0] + Array(queue.utf8) + [0]
        self.sha256 = sha256
    }

    /// The message id of a job created at `timestamp` and due at `due`.
    package func messageID(jobID: String, timestamp: Timestamp, due: Timestamp) -> MessageID {
        if let id = MessageID(jobID), id.instant >= due - Self.plausible, id.instant <= due + Self.plausible {
            return id
        }
        let identity = scope + Array(jobID.utf8) + [0] + Array(String(timestamp.milliseconds).utf8)
        return MessageID(at: due, entropy: sha256(identity))
    }

    /// A deterministic id: the same source always gives the same one.
    /// - Parameters:
    ///   - kind: the producer, such as `reminder`.
    ///   - key: what the message is about, unique within the kind.
    ///   - instant: a fixed instant of the source, never the present.
    package func messageID(kind: String, key: String, instant: Timestamp) -> MessageID {
        MessageID(at: instant, entropy: sha256(Array(kind.utf8) + [0] + Array(key.utf8)))
    }
}
