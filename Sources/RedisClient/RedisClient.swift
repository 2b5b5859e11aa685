import Kernel
package import Observability

/// One connection to Redis on a thread of its own, shared by any number of tasks.
///
/// Calls of many tasks are written as one pipeline. After any error, or when an answer is late, the connection is thrown
/// away and a new one made, with waits of at most a second between attempts; calls that were not written yet wait for it
/// until their own deadline. A blocking command such as BZPOPMIN needs a client of its own, because it holds up every call
/// behind it.
package final class RedisClient: Sendable {
    package struct Options: Sendable {
        /// How long one attempt to connect and greet may take.
        package var connectTimeout: Duration
        /// How long a call may take, waiting for a connection included, unless it says otherwise.
        package var commandTimeout: Duration
        /// The name for CLIENT SETNAME, `nil` for none.
        package var connectionName: String?
        /// How many calls may be without an answer; more are refused.
        package var maxOutstandingCalls: Int
        /// Tells the clients of a process apart in logs and metrics, such as `queue`.
        package var label: String

        package init(
            connectTimeout: Duration = .seconds(2),
            commandTimeout: Duration = .seconds(5),
            connectionName: String? = nil,
            maxOutstandingCalls: Int = 4096,
            label: String = "main"
        ) {
            self.connectTimeout = connectTimeout
            self.commandTimeout = commandTimeout
            self.connectionName = connectionName
            self.maxOutstandingCalls = maxOutstandingCalls
            self.label = label
        }
    }

    private let loop: RedisConnectionLoop
    private let thread: SerialThread
    private let commandTimeout: Duration

    /// Starts the thread. The connection is made by the first call.
    package init(url: RedisURL, options: Options = Options(), telemetry: Telemetry) {
        let loop = RedisConnectionLoop(url: url, options: options, telemetry: telemetry)
        self.loop = loop
        commandTimeout = options.commandTimeout
        thread = SerialThread(name: "redis-\(options.label)", capacity: 1)
        thread.post { loop.run() }
    }

    deinit {
        loop.requestClose()
    }

    /// Sends one command.
    /// - Parameter timeout: how long to wait for the answer; the client's `commandTimeout` when not given.
    /// - Throws: also when Redis answers with an error.
    package func send(_ command: RedisCommand, timeout: Duration? = nil) async throws(RedisError) -> RedisReply {
        let replies = try await pipeline([command], timeout: timeout)
        guard let reply = replies.first else { return .null }
        return try reply.checked()
    }

    /// Sends commands in one go. They are no transaction: commands of others may run between them.
    /// - Returns: one answer for each; errors of Redis are values among them.
    package func pipeline(
        _ commands: [RedisCommand],
        timeout: Duration? = nil
    ) async throws(RedisError) -> [RedisReply] {
        guard !commands.isEmpty else { return [] }
        let deadline = ContinuousClock.now + (timeout ?? commandTimeout)
        let result: Result<[RedisReply], RedisError> = await withCheckedContinuation { continuation in
            let call = RedisCall(commands: commands, deadline: deadline, continuation: continuation)
            if let refusal = loop.submit(call) { call.finish(.failure(refusal)) }
        }
        return try result.get()
    }

    /// Runs a script by its digest, and sends its text when Redis does not know it.
    package func run(
        _ script: RedisScript,
        keys: [RedisArgument],
        arguments: [RedisArgument],
        timeout: Duration? = nil
    ) async throws(RedisError) -> RedisReply {
        do throws(RedisError) {
            return try await send(script.evalsha(keys: keys, arguments: arguments), timeout: timeout)
        } catch {
            guard error.serverCode == "NOSCRIPT" else { throw error }
            return try await send(script.eval(keys: keys, arguments: arguments), timeout: timeout)
        }
    }

    /// Runs a script several times in one pipeline: one answer for each, errors of Redis among them.
    package func runEach(
        _ script: RedisScript,
        calls: [(keys: [RedisArgument], arguments: [RedisArgument])],
        timeout: Duration? = nil
    ) async throws(RedisError) -> [RedisReply] {
        var replies = try await pipeline(
            calls.map { script.evalsha(keys: $0.keys, arguments: $0.arguments) },
            timeout: timeout
        )
        let unknown = replies.indices.filter { index in
            if case .error(let message) = replies[index] { message.hasPrefix("NOSCRIPT") } else { false }
        }
        guard !unknown.isEmpty else { return replies }
        let again = try await pipeline(
            unknown.map { script.eval(keys: calls[$0].keys, arguments: calls[$0].arguments) },
            timeout: timeout
        )
        for (index, reply) in zip(unknown, again) { replies[index] = reply }
        return replies
    }

    /// Fails what is outstanding and ends the thread. Later calls are refused.
    package func close() async {
        loop.requestClose()
        await loop.waitUntilEnded()
    }
}
