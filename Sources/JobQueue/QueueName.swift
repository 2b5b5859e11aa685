import RedisClient

/// Which queue: the prefix of its keys and its name, the two things every BullMQ client must agree on.
package struct QueueName: Sendable, Equatable, Hashable, CustomStringConvertible {
    /// `bull` unless somebody chose another. In braces it keeps the queue in one slot of a Redis cluster.
    package let prefix: String
    package let name: String

    /// - Throws: `invalidName` for an empty prefix or name, and for a name with a colon, which BullMQ refuses.
    package init(prefix: String = "bull", name: String) throws(JobQueueError) {
        guard !name.isEmpty, !name.contains(":"), !prefix.isEmpty else {
            throw JobQueueError(.invalidName, "a queue needs a prefix and a name without a colon")
        }
        self.prefix = prefix
        self.name = name
    }

    package var description: String { "\(prefix):\(name)" }

    /// What every key of the queue begins with.
    package var keyPrefix: String { "\(prefix):\(name):" }

    /// Whether all keys of the queue lie in one slot of a Redis cluster.
    package var hasHashTag: Bool {
        guard let open = keyPrefix.firstIndex(of: "{"), let close = keyPrefix[open...].firstIndex(of: "}") else {
            return false
        }
        return keyPrefix.index(after: open) < close
    }

    /// The keys that every script is given, in the order part-keys.lua names them.
    var scriptKeys: [RedisArgument] {
        [
            "wait", "active", "prioritized", "delayed", "completed", "failed", "stalled", "meta", "marker", "events",
            "pc",
            "id", "limiter", "paused", "stalled-check",
        ].map { .string(keyPrefix + $0) }
    }

    /// The name of a nameless worker's blocking connection, by which dashboards find the workers of a queue.
    var connectionName: String { "\(prefix):\(Self.base64(name))" }

    /// The same for a worker with a name.
    func connectionName(worker: String) -> String {
        "\(connectionName):w:\(worker)"
    }

    private static func base64(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var output: [UInt8] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for (index, byte) in group.enumerated() { bits |= UInt32(byte) << UInt32(16 - 8 * index) }
            for index in 0..<4 {
                let digit = alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)]
                output.append(index <= group.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
