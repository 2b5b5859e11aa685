/// What a key of a queue is, told by its name without the queue's prefix.
enum QueueKey: Equatable {
    case job(String)
    case lock(String)
    /// Logs and lists of children of a job.
    case part(of: String)
    case deduplication(String)
    /// The description of a scheduler.
    case scheduler(String)
    /// A key of the queue itself.
    case own

    private static let parts: Set<Substring> = ["logs", "dependencies", "processed", "failed", "unsuccessful"]
    private static let names: Set<String> = [
        "id", "meta", "wait", "paused", "active", "prioritized", "pc", "delayed", "completed", "failed",
        "waiting-children", "stalled", "stalled-check", "limiter", "marker", "events", "repeat", "priority", "delay",
    ]

    init(_ name: String) {
        if Self.names.contains(name) {
            self = .own
            return
        }
        let pieces = name.split(separator: ":", omittingEmptySubsequences: false)
        let last = pieces.last ?? ""
        switch pieces.first {
        case "de" where pieces.count > 1: self = .deduplication(String(name.dropFirst(3)))
        case "dn" where pieces.count > 1, "metrics" where pieces.count > 1: self = .own
        case "repeat" where pieces.count == 2: self = .scheduler(String(last))
        default:
            if pieces.count > 1, last == "lock" {
                self = .lock(String(name.dropLast(5)))
            } else if pieces.count > 1, Self.parts.contains(last) {
                self = .part(of: String(name.dropLast(last.utf8.count + 1)))
            } else {
                self = .job(name)
            }
        }
    }
}
