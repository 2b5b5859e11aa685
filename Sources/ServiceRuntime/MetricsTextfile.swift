import Glibc
import Kernel

/// A file of metrics that the Prometheus node exporter's textfile collector reads: for a process that ends before anybody could ask
/// it. The exporter reads at any time, so the file changes in one step.
package enum MetricsTextfile {
    /// The file could not be written.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Writes the file, readable by everybody.
    /// - Parameters:
    ///   - text: in the exposition format.
    ///   - path: in the collector's folder; its name must end in `.prom`.
    package static func write(_ text: String, to path: String) throws(Failure) {
        // The collector passes over names with another ending.
        let draft = "\(path).\(getpid())"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw failure("open", draft) }
        var rest = Array(text.utf8)[...]
        var problem: Failure?
        while !rest.isEmpty, problem == nil {
            let written = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if written > 0 { rest = rest.dropFirst(written) } else { problem = failure("write", draft) }
        }
        // Whatever the process's umask says.
        if problem == nil, fchmod(file, 0o644) != 0 { problem = failure("chmod", draft) }
        if close(file) != 0, problem == nil { problem = failure("close", draft) }
        if problem == nil, rename(draft, path) != 0 { problem = failure("rename", path) }
        guard let problem else { return }
        unlink(draft)
        throw problem
    }

    private static func failure(_ step: String, _ path: String) -> Failure {
        Failure(description: "\(step) \(path): \(String(cString: strerror(errno)))")
    }
}
