import Glibc
import Producers
import Synchronization

/// A place in the work at which a test ends this process with SIGKILL, to show that nothing is lost or said twice there.
struct CrashPoint: Sendable {
    /// Why the text names no place.
    struct Unknown: Error, CustomStringConvertible {
        var description: String {
            let places = LifecycleProducer.Checkpoint.allCases.map(\.rawValue).joined(separator: ", ")
            return "must be one of \(places), a colon and a number"
        }
    }

    private let checkpoint: LifecycleProducer.Checkpoint
    private let passes: Int

    /// Reads `announced:1`: the first time this checkpoint is passed.
    init(_ text: String) throws(Unknown) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let checkpoint = LifecycleProducer.Checkpoint(rawValue: String(parts[0])),
            let passes = Int(parts[1]), passes > 0
        else { throw Unknown() }
        self.checkpoint = checkpoint
        self.passes = passes
    }

    /// The hook of an optional point: without one it does nothing.
    static func hook(of point: CrashPoint?) -> @Sendable (LifecycleProducer.Checkpoint) -> Void {
        guard let point else { return { _ in } }
        let counter = PassCounter()
        return { passed in
            guard passed == point.checkpoint, counter.next() == point.passes else { return }
            kill(getpid(), SIGKILL)
        }
    }
}

private final class PassCounter: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
