import Glibc
import Kernel
import Observability
import Testing

@testable import HTTP2

/// Which of several addresses is taken.
@Suite(.timeLimit(.minutes(1)))
struct AddressTests {
    private func addresses(_ host: String, _ port: Int) throws -> [SocketAddress] {
        try AddressResolver.lookUp(host: host, port: port, flags: AI_NUMERICHOST).get()
    }

    @Test func `an address that cannot be reached gives way to the next`() async throws {
        let bed = try await TestBed { _, responder in responder.respond(status: 200) }
        // A host without IPv6 says "network unreachable" to the first, one with it that nobody listens.
        let tried = try addresses("2001:db8::1", 1) + addresses("::1", 1) + addresses("127.0.0.1", bed.server.port)
        let descriptor = try TCPConnector.connect(to: tried, host: "test", deadline: .now + .seconds(6))
        #expect(descriptor >= 0)
        close(descriptor)
        await bed.server.stop()
    }

    @Test func `when no address works the error says why`() throws {
        let tried = try addresses("127.0.0.1", 1)
        let error = #expect(throws: HTTP2Error.self) {
            try TCPConnector.connect(to: tried + tried, host: "test", deadline: .now + .seconds(5))
        }
        #expect(error?.code == .connectFailed)
        #expect(error?.message.contains("2 tried") == true)
    }
}
