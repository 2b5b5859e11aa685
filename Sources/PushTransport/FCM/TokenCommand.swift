import Glibc
import Kernel

/// A command that prints an access token as Google's metadata server does: `{"access_token":"…","expires_in":3599}`.
package struct TokenCommand: AccessTokenIssuing {
    /// Run by `/bin/sh -c`.
    package let command: String
    /// After this time the command is killed with all that it started.
    package var deadline = Duration.seconds(20)
    /// Bytes it may print.
    package var outputLimit = 64 * 1024

    package init(_ command: String) {
        self.command = command
    }

    package func issue() async throws(AccessTokenError) -> IssuedToken {
        let thread = SerialThread(name: "fcm-token", capacity: 1)
        let result = await withCheckedContinuation { continuation in
            thread.post {
                let run = CommandRun(command: command, deadline: deadline, outputLimit: outputLimit)
                continuation.resume(returning: run.output())
            }
            thread.stop()
        }
        return try Self.read(try result.get())
    }

    /// - Throws: `malformed` for anything but the JSON of a token.
    static func read(_ output: [UInt8]) throws(AccessTokenError) -> IssuedToken {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: output)
        } catch {
            // Not the error's own text: it could quote the token.
            throw AccessTokenError(.malformed, "the command printed no JSON")
        }
        guard let text = value["access_token"]?.stringValue, let seconds = value["expires_in"]?.integerValue else {
            throw AccessTokenError(.malformed, "the command printed no access_token with expires_in")
        }
        return try IssuedToken(text: text, seconds: seconds)
    }
}

/// One run of a command. Blocks; for a thread of its own.
private struct CommandRun {
    let command: String
    let deadline: Duration
    let outputLimit: Int

    func output() -> Result<[UInt8], AccessTokenError> {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return .failure(failure("no pipe: \(systemText(errno))")) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child: pid_t
        switch start(writingTo: ends[1]) {
        case .success(let id): child = id
        case .failure(let error):
            close(ends[0])
            close(ends[1])
            return .failure(error)
        }
        close(ends[1])
        defer { close(ends[0]) }
        let end = ContinuousClock.now + deadline
        let printed = read(from: ends[0], until: end)
        return finish(child, printed, until: end)
    }

    private func start(writingTo output: Int32) -> Result<pid_t, AccessTokenError> {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        // What it complains about could hold secrets, and is none of our log's lines.
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A group of its own, so that the deadline ends all of it; and the signals that our threads block.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/sh"), strdup("-c"), strdup(command), nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, "/bin/sh", &actions, &attributes, &arguments, environ)
        return code == 0 ? .success(child) : .failure(failure("cannot be started: \(systemText(code))"))
    }

    /// Reads to the end of the output.
    /// - Returns: `nil` when the deadline or the limit came first.
    private func read(from descriptor: Int32, until end: ContinuousClock.Instant) -> [UInt8]? {
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while output.count <= outputLimit {
            let rest = ContinuousClock.now.duration(to: end).milliseconds
            guard rest > 0 else { return nil }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&entry, 1, Int32(clamping: rest))
            if ready < 0, errno != EINTR { return nil }
            guard ready > 0 else { continue }
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return nil }
            if count == 0 { return output }
            output.append(contentsOf: buffer[..<count])
        }
        return nil
    }

    private func finish(
        _ child: pid_t,
        _ printed: [UInt8]?,
        until end: ContinuousClock.Instant
    ) -> Result<[UInt8], AccessTokenError> {
        var status: Int32 = 0
        if printed != nil {
            // The output has ended, so the command is about to.
            while ContinuousClock.now < end {
                let ended = waitpid(child, &status, WNOHANG)
                if ended == child { return judged(status, printed) }
                if ended < 0, errno != EINTR { return .failure(failure("was lost")) }
                usleep(2000)
            }
        }
        kill(-child, SIGKILL)
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return .failure(failure("did not end in time, or printed more than \(outputLimit) bytes"))
    }

    private func judged(_ status: Int32, _ printed: [UInt8]?) -> Result<[UInt8], AccessTokenError> {
        guard status & 0x7F == 0 else { return .failure(failure("was ended by signal \(status & 0x7F)")) }
        let code = status >> 8 & 0xFF
        guard code == 0, let printed else { return .failure(failure("ended with code \(code)")) }
        return .success(printed)
    }

    private func failure(_ what: String) -> AccessTokenError {
        AccessTokenError(.command, "the token command \(what)")
    }

    private func systemText(_ number: Int32) -> String {
        String(cString: strerror(number)).lowercased()
    }
}
