/// Limits and rules of a client.
package struct FetchOptions: Sendable {
    /// Where plain HTTP may go.
    package enum PlainHTTP: Sendable {
        case nowhere
        /// To 127.0.0.0/8, ::1 and localhost, as written in the URL: what never leaves the machine.
        case loopback
        case anywhere
    }

    /// Shown in metrics and logs: what this client is for, such as `oauth`.
    package var name: String
    package var plainHTTP = PlainHTTP.nowhere
    /// Refuses every address that is not on the public internet, after the name was looked up: for URLs that an outsider may
    /// have had a hand in.
    package var refusesPrivateAddresses = false
    /// PEM of the certificates that vouch for servers, instead of the system's.
    package var trustedPEM: String?
    /// From looking up the name to the end of the TLS handshake.
    package var connectTimeout = Duration.seconds(5)
    /// From the start of the transfer to the complete answer.
    package var totalTimeout = Duration.seconds(15)
    /// The largest body of an answer, in bytes.
    package var bodyLimit = 1024 * 1024
    /// The largest head of an answer, in bytes.
    package var headLimit = 64 * 1024
    /// Redirects that are followed, all under the same rules; a POST is never repeated to another place.
    package var redirects = 0
    /// Requests under way at once.
    package var concurrency = 8
    /// Requests that may wait for their turn.
    package var waitingLimit = 256

    package init(name: String) {
        self.name = name
    }
}
