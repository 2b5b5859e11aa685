package import Kernel

/// How to reach Firebase Cloud Messaging, as whom, and within which limits.
package struct FCMConfiguration: Sendable {
    /// Where access tokens come from.
    package enum Credential: Sendable {
        /// Signed for and exchanged here.
        case serviceAccount(ServiceAccount)
        /// Printed by a command of the operator's, for organisations that allow no service account keys.
        case command(TokenCommand)
    }

    package var credential: Credential
    /// The project's id or number, a part of the path.
    package var projectID: String
    package var host = "fcm.googleapis.com"
    package var port = 443
    /// PEM of the certificates that vouch for the host, instead of the system's.
    package var trustedPEM: String?
    /// Connections, each with its own streams.
    package var connections = 4
    /// Streams a connection carries at most: Google's front end sends a connection away that opens more than 100.
    package var streams = 100
    /// Pushes a minute that this process sends at most, spread evenly; `nil` for as many as FCM takes. Google allows a project 600,000,
    /// and counts refused ones too.
    package var messagesPerMinute: Int?
    /// Pushes that may wait for a stream. Fewer than a worker holds at once, so that a slow FCM never fills it up and holds
    /// back what goes to Apple.
    package var waitingLimit = 1000
    package var waitingTime = Duration.seconds(30)
    package var connectTimeout = Duration.seconds(5)
    /// How long a push may take once it is on a stream; then it is `unknown`. Google asks for 10 s at least.
    package var requestTimeout = Duration.seconds(15)
    /// How long FCM may leave every open request of a connection unanswered before the connection is given up.
    package var stallLimit = Duration.seconds(12)
    /// The waits between attempts to connect and to get an access token.
    package var reconnect = Backoff(base: .seconds(1), limit: .seconds(60))
    /// The pause after an answer that says our account or configuration is at fault.
    package var pause = Backoff(base: .seconds(30), limit: .seconds(600))
    /// The wait after an exceeded quota without a wish of Google's: a minute at least, since a wait is never shorter than
    /// half of its step.
    package var quotaPause = Backoff(base: .seconds(120), limit: .seconds(1200))
    /// The wait before a failed push may come back, without a wish of Google's: never sooner than 10 s.
    package var retryPause = Backoff(base: .seconds(20), limit: .seconds(20))
    /// When so many tokens are called bad that a wrong project is likelier.
    package var breakerWindow = 200
    package var breakerMinimum = 50
    package var breakerShare = 0.5

    /// What each connection may send in a second.
    var pace: Int? { messagesPerMinute.map { max($0 / 60 / max(connections, 1), 1) } }

    package init(credential: Credential, projectID: String) {
        self.credential = credential
        self.projectID = projectID
    }
}
