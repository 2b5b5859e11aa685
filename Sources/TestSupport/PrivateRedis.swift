import Foundation
import Kernel
import Observability
package import RedisClient
import Synchronization

/// A TCP port of 127.0.0.1 that nobody listens on now.
package func freePort() -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            _ = bind(descriptor, address, size)
            _ = getsockname(descriptor, address, &size)
        }
        return Int(UInt16(bigEndian: pointer.pointee.sin_port))
    }
}

/// A Redis server of a test's own, on a unix socket in a folder of its own, that may be stopped and started again.
///
/// It runs with `appendonly yes`, so that what was written is there after a restart.
package final class PrivateRedis: Sendable {
    package let url: RedisURL
    private let folder: String
    private let settings: [String]
    private let process = Mutex<ServerProcess?>(nil)

    /// Starts the server and waits until it answers.
    /// - Parameter settings: more command line settings, such as `["--requirepass", "secret"]`.
    package init(settings: [String] = []) async throws {
        folder = "/tmp/varsel-redis-\(UInt32.random(in: 0...UInt32.max))"
        self.settings = settings
        url = RedisURL(address: .unix(path: folder + "/redis.sock"))
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await start()
    }

    deinit {
        process.withLock { $0?.abandon() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Runs a test with a server and ends the server afterwards.
    package static func run<Value>(
        settings: [String] = [],
        _ body: (PrivateRedis) async throws -> Value
    ) async throws -> Value {
        let redis = try await PrivateRedis(settings: settings)
        let result: Result<Value, any Error>
        do { result = .success(try await body(redis)) } catch { result = .failure(error) }
        try await redis.kill()
        return try result.get()
    }

    /// The process id, while the server runs.
    package var processID: Int32? { process.withLock { $0?.id } }

    /// Starts the server, after `stop()` or `kill()` with the data it had.
    package func start() async throws {
        let server = try ServerProcess(
            [
                "redis-server", "--port", "0", "--unixsocket", folder + "/redis.sock", "--dir", folder,
                "--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction",
            ] + settings
        )
        process.withLock { $0 = server }
        for _ in 0..<500 {
            if isListening() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw TestServerError("redis-server did not open its socket within 5 seconds")
    }

    /// Ends the server in good order.
    package func stop() async throws {
        try await end(SIGTERM)
    }

    /// Ends the server at once, as a crash would.
    package func kill() async throws {
        try await end(SIGKILL)
    }

    /// Makes the server stand still without closing its connections, until `resume()`.
    package func freeze() {
        process.withLock { $0?.send(SIGSTOP) }
    }

    package func resume() {
        process.withLock { $0?.send(SIGCONT) }
    }

    private func end(_ signal: Int32) async throws {
        let running = process.withLock { process in
            defer { process = nil }
            return process
        }
        try await running?.end(signal)
    }

    private func isListening() -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array((folder + "/redis.sock").utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        } == 0
    }
}
