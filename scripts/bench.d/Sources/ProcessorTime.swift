import Foundation

/// The processor time of a server, read from /proc: the process itself and, for PostgreSQL, every process it started.
struct ProcessorTime {
    let process: Int32

    /// User and system time so far, in microseconds.
    var microseconds: Double {
        let ticks = stat(process).map { $0.own + $0.reaped } ?? 0
        let children = childProcesses().compactMap { stat($0)?.own }.reduce(0, +)
        return (ticks + children) * 1_000_000 / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resident memory in MB.
    var residentMegabytes: Double {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8),
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
        else { return 0 }
        return pages * Double(getpagesize()) / 1_048_576
    }

    private func stat(_ process: Int32) -> (own: Double, reaped: Double, parent: Int32)? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[end...].split(separator: " ")
        guard fields.count > 15, let parent = Int32(fields[2]) else { return nil }
        let times = fields[12...15].map { Double($0) ?? 0 }
        return (times[0] + times[1], times[2] + times[3], parent)
    }

    private func childProcesses() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { stat($0)?.parent == process }
    }
}
