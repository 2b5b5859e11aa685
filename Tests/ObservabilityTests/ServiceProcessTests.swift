import Foundation
import Observability
import Testing

@testable import ServiceRuntime

/// What can only be seen from outside: exit codes and what systemd hears.
struct ServiceProcessTests {
    @Test func `a wrong configuration ends with 78 and lists every problem on standard error`() async throws {
        let result = await #expect(
            processExitsWith: .exitCode(78),
            observing: [\.standardErrorContent]
        ) {
            setenv("STOP_DEADLINE", "never", 1)
            ServiceMain.run(name: "test-service") { reader in
                _ = reader.string("NO_SUCH_SETTING", "A name.")
            } body: { _, _ in
            }
        }
        let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(output.contains("test-service: 2 problems in the configuration:"))
        #expect(output.contains("STOP_DEADLINE: \"never\" is not a duration."))
        #expect(output.contains("NO_SUCH_SETTING: not set. A name."))
    }

    @Test func `a task that crashes ends the process with 70`() async {
        struct Boom: Error {}
        await #expect(processExitsWith: .exitCode(70)) {
            ServiceMain.run(name: "test-service") { _ in
            } body: { _, service in
                service.task("loop") { _ in throw Boom() }
            }
        }
    }

    @Test func `systemd hears of readiness, of life while healthy, and of the stop`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            let path = NSTemporaryDirectory() + UUID().uuidString
            let listener = try NotifySocket(path: path)
            defer { unlink(path) }
            setenv("NOTIFY_SOCKET", path, 1)
            setenv("WATCHDOG_USEC", "20000", 1)
            unsetenv("WATCHDOG_PID")
            let service = Service(name: "test", telemetry: .silent())
            let runner = ServiceRunner(service: service, stopDeadline: .seconds(20))
            let code = await runner.run { service in
                service.task("one") { stop in
                    // Ends once a sign of life was heard after the readiness.
                    var heard: [String] = []
                    while !(heard.contains { $0.hasPrefix("READY=1") } && heard.last == "WATCHDOG=1") {
                        heard.append(listener.receive())
                    }
                    runner.signalled("SIGTERM")
                    await stop.wait()
                }
            }
            #expect(code == 0)
            var last = ""
            while !last.hasPrefix("STOPPING=1") { last = listener.receive() }
            #expect(last.contains("SIGTERM"))
            exit(code)
        }
    }
}

/// The receiving end of `sd_notify`.
private final class NotifySocket: Sendable {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result != 0 { throw POSIXError(.EADDRINUSE) }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// The next message; the process ends with 1 when none comes within ten seconds.
    func receive() -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count <= 0 { exit(1) }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
