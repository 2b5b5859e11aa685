import Foundation

/// A program that a test started, known by its process id and ended by it.
package struct ServerProcess: Sendable {
    package let id: Int32

    /// Starts a program that is found on the PATH. Its output goes to a file, or is thrown away.
    package init(_ arguments: [String], output: String = "/dev/null") throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        // Worker threads of the test process block signals, and a child would inherit that and never see SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var child: pid_t = 0
        var list: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in list { free(pointer) } }
        let code = posix_spawnp(&child, arguments[0], &actions, &attributes, &list, environ)
        guard code == 0 else {
            throw TestServerError("\(arguments[0]) cannot be started: \(String(cString: strerror(code)))")
        }
        id = child
    }

    package func send(_ signal: Int32) {
        kill(id, signal)
    }

    /// Sends the signal and returns when the process is gone. No thread is blocked meanwhile.
    package func end(_ signal: Int32) async throws {
        send(signal)
        var status: Int32 = 0
        for _ in 0..<2000 {
            if waitpid(id, &status, WNOHANG) != 0 { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        send(SIGKILL)
        throw TestServerError("process \(id) did not end within 10 seconds")
    }

    /// Waits until the process ends by itself. No thread is blocked meanwhile.
    /// - Returns: its exit code, or the number of the signal that ended it plus 128.
    package func exitCode(within limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        var status: Int32 = 0
        while waitpid(id, &status, WNOHANG) == 0 {
            guard ContinuousClock.now < deadline else {
                abandon()
                throw TestServerError("process \(id) did not end within \(limit)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }

    /// Ends the process without waiting, for a `deinit`.
    package func abandon() {
        send(SIGKILL)
        var status: Int32 = 0
        waitpid(id, &status, 0)
    }
}
