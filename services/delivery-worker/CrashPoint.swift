import DeliveryEngine
import Glibc
import Synchronization

/// A place in the pipeline at which a test ends this process with SIGKILL, to show that nothing is lost there.
struct CrashPoint: Sendable {
    /// Why the text names no place.
    struct Unknown: Error, CustomStringConvertible {
        var description: String {
            "must be one of \(Checkpoint.allCases.map(\.rawValue).joined(separator: ", ")), a colon and a number"
        }
    }

    private let checkpoint: Checkpoint
    private let passes: Int

    /// Reads `after_write:3`: the third time this checkpoint is passed.
    init(_ text: String) throws(Unknown) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let checkpoint = Checkpoint(rawValue: String(parts[0])), let passes = Int(parts[1]),
            passes > 0
        else { throw Unknown() }
        self.checkpoint = checkpoint
        self.passes = passes
    }

    /// The hook of an optional point: without one it does nothing.
    static func hook(of point: CrashPoint?) -> Checkpoint.Hook {
        guard let point else { return { _ in } }
        return point.hook()
    }

    /// The hook that ends the process.
    private func hook() -> Checkpoint.Hook {
        let counter = PassCounter()
        return { [checkpoint, passes] passed in
            guard passed == checkpoint, counter.next() == passes else { return }
            kill(getpid(), SIGKILL)
        }
    }
}

private final class PassCounter: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
