package import Kernel
package import Signing

/// What a simulator listens on, whom it trusts and how much it remembers.
package struct SimulatorConfiguration: Sendable {
    /// A key that providers may sign their tokens with, as Apple knows it from the developer portal.
    package struct Credential: Sendable {
        /// Its key id is compared with the token's `kid`.
        package let key: VerificationKey
        /// Compared with the token's `iss`.
        package let teamID: String

        package init(key: VerificationKey, teamID: String) {
            self.key = key
            self.teamID = teamID
        }
    }

    /// A certificate chain and its private key, both PEM.
    package struct Identity: Sendable {
        package let certificatePEM: String
        package let keyPEM: String

        package init(certificatePEM: String, keyPEM: String) {
            self.certificatePEM = certificatePEM
            self.keyPEM = keyPEM
        }
    }

    /// Address of the APNs interface.
    package var host = "127.0.0.1"
    /// Port of the APNs interface, 0 for any free one.
    package var port = 0
    /// Address of the control interface, which is plain HTTP and must stay on the loopback.
    package var controlHost = "127.0.0.1"
    package var controlPort = 0
    package var identity: Identity
    package var credentials: [Credential]
    /// The bundle ids that may be sent to; empty allows every topic.
    package var topics: Set<String>
    /// How many accepted pushes are kept whole; the oldest leave first. 0 only counts.
    package var recordLimit = 100_000
    /// How many (apns-id, token) pairs are remembered to tell duplicates, 16 bytes each and some more.
    package var duplicateLimit = 5_000_000
    /// Streams a connection may open before its first valid provider token, and after it.
    package var streamsBeforeAuthentication = 1
    package var streamsAfterAuthentication = 1000
    /// Streams of a connection after a refused push until the next accepted one: Apple has been seen to lower the limit to one.
    package var streamsAfterRefusal: Int?
    /// How long after a connection's first valid provider token its raised stream limit is sent.
    package var settingsDelay = Duration.zero
    /// INITIAL_WINDOW_SIZE of a new connection, in bytes: a small one makes bodies wait.
    package var windowSize = 65_535
    /// PEM of the certificates that clients may show instead of provider tokens; a client that shows another is refused in
    /// the handshake.
    package var clientTrustPEM: String?
    /// Accepts what Apple has been seen to accept although it breaks the rules: `Bearer` with a capital, padded or standard
    /// base64 in provider tokens.
    package var isLenient = false
    /// Firebase Cloud Messaging beside APNs, on a port of its own; `nil` for Apple alone.
    package var fcm: FCMSimulation?
    /// Judges the age of provider tokens; tests move it.
    package var clock: any WallClock = SystemWallClock()
    /// How far the clock is ahead of that at the beginning; the control interface changes it.
    package var clockSkew = Duration.zero

    package init(identity: Identity, credentials: [Credential], topics: Set<String> = []) {
        self.identity = identity
        self.credentials = credentials
        self.topics = topics
    }
}
