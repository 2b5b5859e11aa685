package import HTTPFetch
package import Kernel
package import Signing
import Synchronization

/// Where subscriptions stand, asked of Apple's server (App Store Server API, Get All Subscription Statuses).
package final class AppStoreServerAPI: Sendable {
    /// One subscription as Apple knows it now.
    package struct Status: Sendable {
        /// 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
        package let status: Int
        package let transaction: AppStoreTransaction
        package let renewal: AppStoreRenewal?
    }

    /// Why there is no answer.
    package enum Failure: Error, Sendable {
        /// Asking again later may help: too many questions, a server in trouble, no connection.
        case later(reason: String)
        /// Apple refuses the question or does not know the subscription, or the answer cannot be believed.
        case refused(reason: String)
    }

    /// Apple takes tokens of up to an hour; ours last half of it and are renewed five minutes before.
    private static let tokenLifetime = Duration.seconds(30 * 60)
    private static let tokenMargin = Duration.seconds(5 * 60)

    /// What a client for it must be.
    package static var options: FetchOptions {
        var options = FetchOptions(name: "app-store")
        options.plainHTTP = .loopback
        options.totalTimeout = .seconds(10)
        options.bodyLimit = 1024 * 1024
        return options
    }

    private let fetch: HTTPFetch
    private let baseURL: String
    private let key: SigningKey
    private let issuerID: String
    private let bundleID: String
    private let verifier: AppStoreVerifier
    private let clock: any WallClock
    private let token = Mutex<(text: String, until: Timestamp)?>(nil)

    package init(
        fetch: HTTPFetch,
        baseURL: String,
        key: SigningKey,
        issuerID: String,
        bundleID: String,
        verifier: AppStoreVerifier,
        clock: any WallClock
    ) {
        self.fetch = fetch
        self.baseURL = baseURL
        self.key = key
        self.issuerID = issuerID
        self.bundleID = bundleID
        self.verifier = verifier
        self.clock = clock
    }

    /// Every subscription of the customer in the app, among them the one asked about.
    package func statuses(of originalTransactionID: String) async throws(Failure) -> [Status] {
        let response: FetchResponse
        do {
            response = try await fetch.send(
                FetchRequest(
                    .get,
                    "\(baseURL)/inApps/v1/subscriptions/\(originalTransactionID)",
                    headers: [("authorization", "Bearer \(try bearer())"), ("accept", "application/json")]
                )
            )
        } catch {
            throw .later(reason: (error as? FetchError)?.code.rawValue ?? "\(error)")
        }
        switch response.status {
        case 200: return try await read(response)
        case 429, 500...599: throw .later(reason: String(response.status))
        default: throw .refused(reason: String(response.status))
        }
    }

    private func read(_ response: FetchResponse) async throws(Failure) -> [Status] {
        guard let body = try? response.json(), body["bundleId"]?.stringValue == bundleID,
            let groups = body["data"]?.arrayValue
        else { throw .refused(reason: "answer") }
        var found: [Status] = []
        for entry in groups.flatMap({ $0["lastTransactions"]?.arrayValue ?? [] }) {
            guard let status = entry["status"]?.integerValue.flatMap({ Int(exactly: $0) }),
                let signed = entry["signedTransactionInfo"]?.stringValue
            else { throw .refused(reason: "answer") }
            do {
                let transaction = try await verifier.transaction(signed, environment: .production)
                var renewal: AppStoreRenewal?
                if let token = entry["signedRenewalInfo"]?.stringValue {
                    renewal = try await verifier.renewal(token, environment: .production)
                }
                guard renewal.map({ $0.originalTransactionID == transaction.originalTransactionID }) ?? true else {
                    throw AppStoreRefusal.disagreement
                }
                found.append(Status(status: status, transaction: transaction, renewal: renewal))
            } catch let refusal as AppStoreRefusal {
                throw .refused(reason: refusal.reason)
            } catch {
                throw .later(reason: "revocation")
            }
        }
        return found
    }

    private func bearer() throws -> String {
        let now = clock.now
        if let known = token.withLock({ $0 }), now < known.until { return known.text }
        let end = now + Self.tokenLifetime
        let text = try JWTSigner.sign(
            header: [JSONMember("typ", "JWT")],
            claims: [
                "iss": .string(issuerID), "iat": .integer(now.seconds), "exp": .integer(end.seconds),
                "aud": "appstoreconnect-v1", "bid": .string(bundleID),
            ],
            key: key
        )
        token.withLock { $0 = (text, end - Self.tokenMargin) }
        return text
    }
}
