import Glibc
import HTTP2
import Kernel
import Observability
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConnectTests {
    private func connectError(
        to bed: TestBed,
        _ tls: TLSClientConfiguration
    ) async -> HTTP2Error? {
        await failure { () throws(HTTP2Error) in
            try await HTTP2ClientConnection.connect(
                host: "127.0.0.1",
                port: bed.server.port,
                tls: tls,
                telemetry: bed.telemetry
            )
        }
    }

    private let answer = ScriptedHandler { _, responder in responder.respond(status: 200) }

    @Test func `a certificate for another host is refused`() async throws {
        let bed = try await TestBed(identity: TestBed.identity(hosts: ["other.example", "127.0.0.2"]), handler: answer)
        let error = await connectError(to: bed, bed.tls)
        #expect(error?.code == .tlsFailed)
        #expect(error?.message.contains("mismatch") == true)
        var named = bed.tls
        named.serverName = "third.example"
        #expect(await connectError(to: bed, named)?.code == .tlsFailed)
    }

    @Test func `the server name can stand in for the host`() async throws {
        let bed = try await TestBed(identity: TestBed.identity(hosts: ["api.example"]), handler: answer)
        var tls = bed.tls
        tls.serverName = "api.example"
        #expect(await connectError(to: bed, tls) == nil)
    }

    @Test func `a certificate that nobody trusts is refused`() async throws {
        let bed = try await TestBed(handler: answer)
        let other = try TestBed.identity()
        for trust in [TLSTrust.systemStore, .certificates(pem: other.certificatePEM)] {
            let error = await connectError(to: bed, TLSClientConfiguration(trust: trust))
            #expect(error?.code == .tlsFailed)
            #expect(error?.wasProcessed == .no)
        }
        #expect(
            bed.telemetry.metrics.counter(
                "http2_client_connect_failures_total",
                help: "",
                labels: [("code", "tls_failed")]
            ).current == 2
        )
    }

    @Test(arguments: ["", "no PEM at all", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func `a trust text without certificates is an error, not an empty store`(_ pem: String) async throws {
        let bed = try await TestBed(handler: answer)
        #expect(await connectError(to: bed, TLSClientConfiguration(trust: .certificates(pem: pem)))?.code == .tlsFailed)
        #expect(await connectError(to: bed, TLSClientConfiguration(caFile: "/nonexistent"))?.code == .tlsFailed)
    }

    @Test func `a server that wants a client certificate lets in only those that show one`() async throws {
        let (server, client) = try (TestBed.identity(), clientIdentity())
        let listener = try await HTTP2Server.start(
            host: "127.0.0.1",
            port: 0,
            tls: TLSServerConfiguration(identity: server, clientTrust: .certificates(pem: client.certificatePEM)),
            handler: answer,
            telemetry: .silent()
        )
        func connect(_ identity: TLSIdentity?) async throws(HTTP2Error) -> HTTP2ClientConnection {
            try await HTTP2ClientConnection.connect(
                host: "127.0.0.1",
                port: listener.port,
                tls: TLSClientConfiguration(trust: .certificates(pem: server.certificatePEM), identity: identity),
                telemetry: .silent()
            )
        }
        // With TLS 1.3 the client's handshake is over before the server has looked at the certificate.
        let refused = await failure { () throws(HTTP2Error) in try await connect(nil) }
        #expect([.connectionLost, .tlsFailed].contains(refused?.code))
        let connection = try await connect(client)
        #expect(try await connection.send(.push(), timeout: .seconds(5)).status == 200)
        await connection.close(drain: .zero)
        await listener.stop()
    }

    @Test func `a name without address and a closed port fail at once`() async throws {
        let bed = try await TestBed(handler: answer)
        await bed.server.stop()
        #expect(await connectError(to: bed, bed.tls)?.code == .connectFailed)
        let unknown = await failure { () throws(HTTP2Error) in
            try await HTTP2ClientConnection.connect(
                host: "does-not-exist.invalid",
                port: 443,
                tls: TLSClientConfiguration(),
                telemetry: bed.telemetry
            )
        }
        #expect(unknown?.code == .connectFailed)
    }

    @Test func `a peer that accepts and says nothing costs no more than the connect timeout`() async throws {
        // The kernel completes the connection; nobody ever accepts it.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length)
                listen(descriptor, 1)
                getsockname(descriptor, pointer, &length)
            }
            return Int(UInt16(bigEndian: pointer.pointee.sin_port))
        }
        var options = HTTP2ClientOptions()
        options.connectTimeout = .milliseconds(300)
        let identity = try TestBed.identity()
        let error = await failure { () throws(HTTP2Error) in
            try await HTTP2ClientConnection.connect(
                host: "127.0.0.1",
                port: port,
                tls: TLSClientConfiguration(trust: .certificates(pem: identity.certificatePEM)),
                options: options,
                telemetry: .silent()
            )
        }
        #expect(error?.code == .connectFailed)
        #expect(error?.message.contains("too long") == true)
    }

    @Test func `localhost is looked up and reached`() async throws {
        let bed = try await TestBed(handler: answer)
        let client = try await HTTP2ClientConnection.connect(
            host: "localhost",
            port: bed.server.port,
            tls: bed.tls,
            telemetry: .silent()
        )
        #expect(try await client.send(.push(), timeout: .seconds(5)).status == 200)
        await client.close(drain: .zero)
    }
}
