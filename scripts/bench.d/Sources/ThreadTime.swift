import Foundation

/// Processor time to the microsecond: what the kernel's scheduler counted for each thread of a process.
struct ThreadTime {
    let process: Int32

    /// Time on a processor so far, in microseconds, all threads together.
    var microseconds: Double {
        let tasks = "/proc/\(process)/task"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return names.reduce(0) { sum, name in
            guard let text = try? String(contentsOfFile: "\(tasks)/\(name)/schedstat", encoding: .utf8),
                let nanoseconds = text.split(separator: " ").first.flatMap({ Double($0) })
            else { return sum }
            return sum + nanoseconds / 1000
        }
    }
}
