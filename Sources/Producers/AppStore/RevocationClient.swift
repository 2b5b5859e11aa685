package import HTTPFetch
package import Signing

/// Nobody could be asked whether a certificate was withdrawn.
package struct RevocationOutage: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// Asks Apple's responder whether the certificates of a new chain were withdrawn (OCSP), both of them, and takes nothing but a
/// clear "good". A responder outside the configured hosts is never asked.
package struct RevocationClient: RevocationChecking {
    /// What a client for it must be: short, small, without redirects. The protocol is spoken over plain HTTP, as answers are signed.
    package static var options: FetchOptions {
        var options = FetchOptions(name: "ocsp")
        options.plainHTTP = .anywhere
        options.totalTimeout = .seconds(3)
        options.connectTimeout = .seconds(3)
        options.bodyLimit = 64 * 1024
        options.redirects = 0
        return options
    }

    private let fetch: HTTPFetch
    private let hosts: Set<String>

    /// - Parameter hosts: `name` or `name:port`, in lower case.
    package init(fetch: HTTPFetch, hosts: Set<String>) {
        self.fetch = fetch
        self.hosts = hosts
    }

    package func check(_ chain: VerifiedChain) async throws {
        try await check(chain.intermediate, issuedBy: chain.root)
        try await check(chain.leaf, issuedBy: chain.intermediate)
    }

    private func check(_ certificate: X509Certificate, issuedBy issuer: X509Certificate) async throws {
        guard let question = RevocationQuestion(about: certificate, issuedBy: issuer), isAllowed(question.url) else {
            throw ChainRefusal.revoked
        }
        let response: FetchResponse
        do {
            response = try await fetch.send(
                FetchRequest(
                    .post,
                    question.url,
                    headers: [("content-type", "application/ocsp-request"), ("accept", "application/ocsp-response")],
                    body: question.request
                )
            )
        } catch {
            throw RevocationOutage(description: "\(error)")
        }
        guard response.status == 200 else {
            throw RevocationOutage(description: "the responder answered \(response.status)")
        }
        guard question.isGood(response.body) else { throw ChainRefusal.revoked }
    }

    private func isAllowed(_ url: String) -> Bool {
        guard let mark = url.firstRange(of: "://"), ["http", "https"].contains(url[..<mark.lowerBound].lowercased())
        else {
            return false
        }
        let authority = url[mark.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return hosts.contains(authority.lowercased())
    }
}
