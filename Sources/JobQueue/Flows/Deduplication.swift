import Kernel

/// Which jobs count as the same one, and what becomes of the later ones. Unlike a job id, which stays taken as long as
/// its job is kept, a deduplication id is free again when its job ended or its time is over.
package struct Deduplication: Sendable, Equatable {
    /// 1 to 512 bytes.
    package var id: String
    /// How long the id stays taken, also when its job ends earlier. `nil`: until the job ends.
    package var ttl: Duration?
    /// Every later job starts the time anew. Needs `ttl`.
    package var extend: Bool
    /// A later job takes the place of one that is still delayed.
    package var replace: Bool
    /// The newest of the jobs that came while the owner was active is added when the owner ends. The id has no time then.
    package var keepLastIfActive: Bool

    package init(
        id: String,
        ttl: Duration? = nil,
        extend: Bool = false,
        replace: Bool = false,
        keepLastIfActive: Bool = false
    ) {
        self.id = id
        self.ttl = ttl
        self.extend = extend
        self.replace = replace
        self.keepLastIfActive = keepLastIfActive
    }

    func check() throws(JobQueueError) {
        guard !id.isEmpty, id.utf8.count <= 512, !id.utf8.contains(0) else {
            throw JobQueueError(.invalidDeduplication, "a deduplication id has 1 to 512 bytes")
        }
        if let ttl {
            guard ttl.milliseconds > 0 else {
                throw JobQueueError(.invalidDeduplication, "the time of a deduplication id is at least a millisecond")
            }
        } else if extend {
            throw JobQueueError(.invalidDeduplication, "a deduplication id without a time cannot be extended")
        }
    }

    /// As it stands in a job's options, under `de`.
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            if let ttl { writer.member("ttl", ttl.milliseconds) }
            if extend { writer.member("extend", true) }
            if replace { writer.member("replace", true) }
            if keepLastIfActive { writer.member("keepLastIfActive", true) }
        }
    }

    /// As add-related.lua takes it.
    var scriptJSON: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("id", id)
            writer.member("ttl", ttl?.milliseconds ?? 0)
            writer.member("extend", extend)
            writer.member("replace", replace)
            writer.member("keepLast", keepLastIfActive)
        }
        return writer.text
    }
}
