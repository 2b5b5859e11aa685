package import Kernel
import Notifications
package import Signing

/// How to reach APNs, as whom, and within which limits.
package struct APNsConfiguration: Sendable {
    /// Who is sending.
    package enum Credential: Sendable {
        /// Provider tokens signed with this key, whose key id is Apple's ten characters.
        case token(key: SigningKey, teamID: String)
        /// A client certificate for one app.
        case certificate(ClientCertificate)
    }

    package let credential: Credential
    /// Where the fleet shares its provider token; `nil`: this process mints its own.
    package var vault: (any ProviderTokenVault)?
    /// Overrides both of Apple's hosts: for a simulator or a proxy.
    package var host: String?
    /// What is looked up instead of the host before each connection; `nil` for the host itself.
    package var lookUpName: (@Sendable (_ host: String) -> String)?
    /// 443, or 2197 where a firewall lets APNs out but not the rest of the web.
    package var port: Int
    /// PEM of the certificates that vouch for the host, instead of the system's.
    package var trustedPEM: String?
    /// Connections to each environment. More than one spreads over Apple's machines.
    package var connections = 1
    /// Streams a connection carries at most; Apple's own limit is around 1,000 and goes first when it is lower.
    package var streams = 1000
    /// Bytes of bodies a connection carries at most.
    package var bytes = 4 * 1024 * 1024
    /// Pushes a second on each connection; `nil` for as many as Apple takes.
    package var pace: Int?
    /// Pushes that may wait for a stream, in each environment.
    package var waitingLimit = 20_000
    /// Bytes of bodies that may wait, in each environment.
    package var waitingBytes = 32 * 1024 * 1024
    /// How long a push may wait for a stream.
    package var waitingTime = Duration.seconds(30)
    package var connectTimeout = Duration.seconds(10)
    /// How long a push may take once it is on a stream; then it is `unknown`.
    package var requestTimeout = Duration.seconds(15)
    /// How long a connection may leave every push on it unanswered before it counts as dead, whatever else it says.
    package var stallLimit = Duration.seconds(12)
    /// A connection is replaced at about this age, so that look-ups and load spread over Apple's machines anew.
    package var lifetime = Duration.seconds(4 * 3600)
    /// The waits between attempts to connect.
    package var reconnect = Backoff(base: .seconds(1), limit: .seconds(60))
    /// The pause after an answer that says our account or configuration is at fault.
    package var pause = Backoff(base: .seconds(30), limit: .seconds(600))
    /// When so many tokens are called bad that a wrong environment is likelier.
    package var breakerWindow = 200
    package var breakerMinimum = 50
    package var breakerShare = 0.5

    /// Token authentication.
    /// - Throws: `refusedKey` for a key that is not P-256 or has no key id.
    package init(
        key: SigningKey,
        teamID: String,
        host: String? = nil,
        port: Int = 443,
        trustedPEM: String? = nil
    ) throws(SigningError) {
        guard key.algorithm == .es256, key.keyID != nil else {
            throw SigningError(.refusedKey, "an APNs key is a P-256 key with a key id")
        }
        credential = .token(key: key, teamID: teamID)
        self.host = host
        self.port = port
        self.trustedPEM = trustedPEM
    }

    /// Certificate authentication.
    package init(
        certificate: ClientCertificate,
        host: String? = nil,
        port: Int = 443,
        trustedPEM: String? = nil
    ) {
        credential = .certificate(certificate)
        self.host = host
        self.port = port
        self.trustedPEM = trustedPEM
    }

    func host(for environment: PushEnvironment) -> String {
        host
            ?? (environment == .production ? "api.push.apple.com" : "api.sandbox.push.apple.com")
    }
}
