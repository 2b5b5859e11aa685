import HTTPFetch
package import Observability
import Signing

/// Gets an issuer's JWK set: over TLS, from exactly the configured address, without redirects, within five seconds.
package struct PublishedKeys: Sendable {
    /// Why there is no set.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    private let url: String
    private let client: HTTPFetch

    /// - Parameters:
    ///   - allowsPrivate: whether the server may stand on an address that is not of the public internet.
    ///   - trustedPEM: the certificates that vouch for it, instead of the system's.
    package init(url: String, allowsPrivate: Bool, trustedPEM: String?, telemetry: Telemetry) {
        self.url = url
        var options = FetchOptions(name: "jwks")
        options.refusesPrivateAddresses = !allowsPrivate
        options.trustedPEM = trustedPEM
        options.connectTimeout = .seconds(3)
        options.totalTimeout = .seconds(5)
        options.bodyLimit = JWKSet.sizeLimit
        options.headLimit = 16 * 1024
        options.concurrency = 1
        options.waitingLimit = 4
        client = HTTPFetch(options: options, telemetry: telemetry)
    }

    package func get() async throws -> TokenKeys.Published {
        let response = try await client.send(FetchRequest(.get, url, headers: [("accept", "application/json")]))
        guard response.status == 200 else { throw Refusal(description: "the key server answered \(response.status)") }
        return TokenKeys.Published(text: response.body, maxAge: Self.maxAge(response.header("cache-control")))
    }

    package func close() async {
        await client.close()
    }

    /// The `max-age` of a Cache-Control header.
    static func maxAge(_ header: String?) -> Duration? {
        for directive in (header ?? "").split(separator: ",") {
            let parts = directive.filter { $0 != " " }.split(separator: "=")
            if parts.count == 2, parts[0].lowercased() == "max-age", let seconds = Int64(parts[1]), seconds >= 0 {
                return .seconds(min(seconds, 31_536_000))
            }
        }
        return nil
    }
}
