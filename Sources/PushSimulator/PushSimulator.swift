import HTTP2
import HTTPServer
package import Observability

/// Apple's push service, and Google's, as far as a provider can see them: HTTP/2 over TLS, real statuses and reasons, faults
/// on demand.
///
/// It runs as a process of its own (`services/push-simulator`) and inside tests. It delivers to no device; it remembers what
/// it accepted and tells over a control interface.
package final class PushSimulator: Sendable {
    /// The port of the APNs interface.
    package let port: Int
    /// The port of the control interface.
    package let controlPort: Int
    /// The port of FCM's interface, where FCM is played; its token endpoint is `/token` on the control port.
    package let fcmPort: Int?

    private let apns: APNsHandler
    private let server: HTTP2Server
    private let control: HTTPServer
    private let fcm: FCMHandler?
    private let fcmServer: HTTP2Server?

    private init(
        apns: APNsHandler,
        server: HTTP2Server,
        fcm: FCMHandler?,
        fcmServer: HTTP2Server?,
        control: HTTPServer
    ) {
        self.apns = apns
        self.server = server
        self.fcm = fcm
        self.fcmServer = fcmServer
        self.control = control
        port = server.port
        controlPort = control.port
        fcmPort = fcmServer?.port
    }

    /// Starts both interfaces.
    /// - Throws: `SigningError` for credentials that are none, the servers' own errors for addresses that cannot be bound.
    package static func start(_ configuration: SimulatorConfiguration, telemetry: Telemetry) async throws
        -> PushSimulator
    {
        let apns = try APNsHandler(configuration: configuration, telemetry: telemetry)
        let fcm = try configuration.fcm.map { simulation in
            try FCMHandler(simulation, log: apns.log, clock: configuration.clock, telemetry: telemetry)
        }
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = configuration.streamsBeforeAuthentication
        options.maxRequestBody = 64 * 1024
        options.initialWindowSize = configuration.windowSize
        let server = try await HTTP2Server.start(
            host: configuration.host,
            port: configuration.port,
            tls: TLSServerConfiguration(
                identity: TLSIdentity(
                    certificatePEM: configuration.identity.certificatePEM,
                    privateKeyPEM: configuration.identity.keyPEM
                ),
                clientTrust: configuration.clientTrustPEM.map { .certificates(pem: $0) },
                clientMayStayUnknown: true
            ),
            options: options,
            handler: apns,
            telemetry: telemetry
        )
        var fcmServer: HTTP2Server?
        do {
            if let fcm, let simulation = configuration.fcm {
                fcmServer = try await startFCM(fcm, simulation, configuration, telemetry)
            }
            let control = try HTTPServer.start(
                options: HTTPServerOptions(listen: "\(configuration.controlHost):\(configuration.controlPort)"),
                desk: RequestDeskOptions(problemTypePrefix: "urn:varsel:problem:"),
                router: ControlAPI(apns: apns, fcm: fcm).router,
                telemetry: telemetry
            )
            return PushSimulator(apns: apns, server: server, fcm: fcm, fcmServer: fcmServer, control: control)
        } catch {
            await fcmServer?.stop()
            await server.stop()
            throw error
        }
    }

    private static func startFCM(
        _ fcm: FCMHandler,
        _ simulation: FCMSimulation,
        _ configuration: SimulatorConfiguration,
        _ telemetry: Telemetry
    ) async throws -> HTTP2Server {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = simulation.promisedStreams ?? simulation.streams
        options.maxRequestBody = 64 * 1024
        return try await HTTP2Server.start(
            host: configuration.host,
            port: simulation.port,
            tls: TLSServerConfiguration(
                certificatePEM: configuration.identity.certificatePEM,
                privateKeyPEM: configuration.identity.keyPEM
            ),
            options: options,
            handler: fcm,
            telemetry: telemetry
        )
    }

    /// Ends every interface; connections are broken off.
    package func stop() async {
        await control.stop(deadline: .seconds(1))
        await server.stop()
        await fcmServer?.stop()
    }

    /// The newest accepted pushes first.
    package func pushes(token: String? = nil, limit: Int = 1000) -> [RecordedPush] {
        apns.log.pushes(token: token, limit: limit)
    }

    package var acceptedCount: Int { apns.log.counts.accepted }
    /// Accepted pushes whose (apns-id, token) had been accepted before.
    package var duplicateCount: Int { apns.log.counts.duplicates }
    /// Refused pushes by reason.
    package var refusedCounts: [String: Int] { apns.log.counts.refused }
    /// Connections that showed a valid provider token.
    package var connectionCount: Int { apns.authenticatedConnections }

    /// Puts a fault in force.
    /// - Returns: `false` when there are too many.
    @discardableResult
    package func addFault(_ rule: FaultRule) -> Bool { apns.faults.add([rule]) }

    /// Says GOAWAY on every open connection, served to its last stream, as when Apple takes a machine out.
    package func endConnections(reason: String? = nil) { apns.endConnections(reason: reason) }

    /// Breaks off every open connection.
    package func dropConnections() { apns.dropConnections() }

    /// How far the clock that judges provider tokens is ahead.
    package var clockSkew: Duration {
        get { apns.clock.skew }
        set { apns.clock.skew = newValue }
    }

    package func clearFaults() { apns.faults.clear() }
    package func clearPushes() { apns.log.clear() }

    // MARK: FCM

    /// Puts a fault of FCM in force; a refusal's reason is Google's code. See `FCMRefusal` for two reasons that stand for
    /// their details.
    /// - Returns: `false` when there are too many, or FCM is not played.
    @discardableResult
    package func addFCMFault(_ rule: FaultRule) -> Bool { fcm?.faults.add([rule]) ?? false }
    /// The same for requests for access tokens.
    @discardableResult
    package func addTokenFault(_ rule: FaultRule) -> Bool { fcm?.tokenFaults.add([rule]) ?? false }

    package func clearFCMFaults() {
        fcm?.faults.clear()
        fcm?.tokenFaults.clear()
    }

    /// Access tokens issued so far.
    package var accessTokenCount: Int { fcm?.tokens.issued ?? 0 }
    /// Ends every access token at once.
    package func revokeAccessTokens() { fcm?.tokens.revokeAll() }
    package var fcmConnectionCount: Int { fcm?.connections ?? 0 }
    /// The most requests that one connection to FCM had open at once.
    package var fcmPeakStreams: Int { fcm?.peakStreams ?? 0 }
}
