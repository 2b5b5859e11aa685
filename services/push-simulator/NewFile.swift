import Glibc
import ServiceRuntime

/// Files the simulator leaves for others to read.
enum NewFile {
    static func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    /// Writes the whole file under another name and moves it into place, so that a reader never sees half of it.
    /// - Throws: a `ConfigError` naming the setting the path came from.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t, setting: String) throws(ConfigError) {
        let temporary = "\(path).\(getpid())"
        func fail() -> ConfigError {
            let problem = "\"\(path)\" cannot be written: \(String(cString: strerror(errno)).lowercased())"
            unlink(temporary)
            return ConfigError(
                name: setting,
                problem: problem,
                fix: "Name a file in a directory this user may write to."
            )
        }
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw fail() }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw fail() }
            rest = rest.dropFirst(count)
        }
        guard rename(temporary, path) == 0 else { throw fail() }
    }
}
