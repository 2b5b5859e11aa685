package import Signing

/// Firebase Cloud Messaging as the simulator plays it: one project, one service account.
package struct FCMSimulation: Sendable {
    /// Compared with the project in a request's path.
    package var projectID: String
    /// Compared with an assertion's `iss`.
    package var clientEmail: String
    /// Verifies assertions; its key id is compared with their `kid`.
    package var key: VerificationKey
    /// Port of the sending interface, 0 for any free one; its address is the APNs interface's.
    package var port = 0
    /// How long access tokens are good for.
    package var tokenLifetime = Duration.seconds(3599)
    /// Messages a minute that the project may send; `nil` for as many as come.
    package var messagesPerMinute: Int?
    /// Streams a connection may open at once. One that opens more is sent away.
    package var streams = 100
    /// What SETTINGS promise, where a test wants more promised than is kept.
    package var promisedStreams: Int?

    package init(projectID: String, clientEmail: String, key: VerificationKey) {
        self.projectID = projectID
        self.clientEmail = clientEmail
        self.key = key
    }
}
