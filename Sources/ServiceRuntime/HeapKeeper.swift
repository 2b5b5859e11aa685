import CMalloc
import Glibc
import Kernel

/// Gives memory that the process has freed back to the system.
///
/// glibc keeps it for later, and between small blocks that live on it never gets round to returning it: a gateway that had
/// read bulk requests on 64 connections stayed at 238 MB of which it used 22.
struct HeapKeeper: Sendable {
    private static let interval = Duration.seconds(1)

    /// When returning memory is worth walking through the heap, which takes some milliseconds.
    struct Policy: Sendable {
        /// Growth in bytes that is left alone.
        static let tolerance = 16 * 1024 * 1024
        /// Resident bytes after the last return, or at their lowest since.
        private var floor: Int?

        init() {}

        /// - Parameter resident: bytes of memory the process holds now.
        mutating func isWorthReturning(at resident: Int) -> Bool {
            let floor = min(floor ?? resident, resident)
            self.floor = floor
            return resident - floor > Self.tolerance
        }

        /// - Parameter resident: bytes of memory that were left.
        mutating func returned(leaving resident: Int) { floor = resident }
    }

    /// From this size on a block is a mapping of its own, which goes back to the system when it is freed. Left alone, glibc raises
    /// the limit to the largest block it ever freed.
    private static let mappedBytes: Int32 = 128 * 1024

    private let thread = SerialThread(name: "heap")

    /// To be called before the process has threads.
    init() {
        // Refused only for values that glibc does not allow; this one is its own default.
        mallopt(M_MMAP_THRESHOLD, Self.mappedBytes)
    }

    /// Looks after the heap as long as the process lives.
    func run() async {
        var policy = Policy()
        while !Task.isCancelled {
            let before = policy
            do {
                policy = try await thread.run { Self.turn(before) }
                try await Task.sleep(for: Self.interval)
            } catch {
                return  // Cancelled, or the thread was stopped: both end this loop, and nothing depends on it.
            }
        }
    }

    /// Looks once, and returns memory when there is much of it.
    static func turn(_ policy: Policy) -> Policy {
        var policy = policy
        guard let resident = residentBytes(), policy.isWorthReturning(at: resident) else { return policy }
        malloc_trim(0)
        if let left = residentBytes() { policy.returned(leaving: left) }
        return policy
    }

    /// Bytes of memory this process holds; `nil` without a `/proc`.
    static func residentBytes() -> Int? {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = read(file, &text, text.count)
        guard count > 0 else { return nil }
        // The second number is the resident set in pages (proc(5)).
        let fields = text[..<count].split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
