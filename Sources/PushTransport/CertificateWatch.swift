import HTTP2
import Kernel
import Observability
import Signing

/// Watches the end of the client certificate: it comes once a year and stops every push.
struct CertificateWatch: Sendable {
    /// From so many days before its end on, the log asks for a new certificate.
    static let warningDays = 30

    /// Why a certificate is of no use any more.
    struct Expired: Error, CustomStringConvertible {
        let description: String
    }

    private let certificate: ClientCertificate
    private let wallClock: any WallClock
    private let logger: Logger

    /// Registers the metric and says what there is to say now.
    init(_ certificate: ClientCertificate, wallClock: any WallClock, telemetry: Telemetry) {
        self.certificate = certificate
        self.wallClock = wallClock
        logger = telemetry.logger
        telemetry.metrics.gauge("apns_certificate_days_left", help: "Whole days until the APNs certificate ends.") {
            Double(certificate.daysLeft(at: wallClock.now))
        }
    }

    var identity: TLSIdentity {
        TLSIdentity(certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.privateKeyPEM)
    }

    /// Called before each connection.
    /// - Throws: `Expired`; Apple would end the handshake without a reason.
    func check() throws {
        let days = certificate.daysLeft(at: wallClock.now)
        guard wallClock.now < certificate.notAfter else {
            throw Expired(description: "the certificate \(certificate.name) ended at \(certificate.notAfter.rfc3339)")
        }
        guard days < Self.warningDays else { return }
        logger.warning(
            "the APNs certificate ends soon: replace it",
            ["name": .string(certificate.name), "daysLeft": .integer(days)]
        )
    }
}
