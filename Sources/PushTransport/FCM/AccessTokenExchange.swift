import HTTPFetch
import Kernel
import Signing

/// Exchanges a signed assertion for an access token (RFC 7523, Google's "Using OAuth 2.0 for Server to Server Applications").
struct AccessTokenExchange: AccessTokenIssuing {
    /// All that is asked for.
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// How long an assertion may be used; Google allows an hour.
    private static let validity: Int64 = 600
    /// Answers are small.
    static let bodyLimit = 64 * 1024

    let account: ServiceAccount
    let fetch: HTTPFetch
    let wallClock: any WallClock

    /// https, or plain HTTP that never leaves the machine: the assertion is as good as the token.
    static func checkTokenURL(_ text: String) throws(FCMCredentialError) {
        guard let url = FetchURL(text), !url.isPlain || url.isLoopback else {
            throw FCMCredentialError(description: "\"token_uri\" is no https URL")
        }
    }

    func issue() async throws(AccessTokenError) -> IssuedToken {
        let response: FetchResponse
        do {
            response = try await fetch.send(
                .form(account.tokenURL, [("grant_type", Self.grantType), ("assertion", try assertion())])
            )
        } catch let error as FetchError {
            throw AccessTokenError(.unavailable, error.description)
        } catch let error as SigningError {
            throw AccessTokenError(.signing, error.description)
        } catch {
            throw AccessTokenError(.unavailable, "\(error)")
        }
        return try Self.read(response)
    }

    /// The token of an answer, or why there is none.
    static func read(_ response: FetchResponse) throws(AccessTokenError) -> IssuedToken {
        let body: JSONValue?
        do {
            body = try response.json()
        } catch {
            // A proxy's page, perhaps: the status decides.
            body = nil
        }
        guard response.status == 200 else {
            let word = body?["error"]?.stringValue.map { String($0.prefix(64)) } ?? "status \(response.status)"
            // RFC 6749, 5.2: 400 and 401 refuse the request itself.
            let isFinal = response.status == 400 || response.status == 401 || response.status == 403
            throw AccessTokenError(
                isFinal ? .refused : .unavailable,
                word == "invalid_grant"
                    ? "invalid_grant: the key was deleted, the account is disabled, or this machine's clock is wrong"
                    : word
            )
        }
        guard let text = body?["access_token"]?.stringValue, let seconds = body?["expires_in"]?.integerValue else {
            throw AccessTokenError(.malformed, "the answer holds no access_token with expires_in")
        }
        return try IssuedToken(text: text, seconds: seconds)
    }

    private func assertion() throws -> String {
        let now = wallClock.now.seconds
        return try JWTSigner.sign(
            header: [JSONMember("typ", "JWT")],
            claims: [
                "iss": .string(account.clientEmail),
                "scope": .string(Self.scope),
                "aud": .string(account.tokenURL),
                "iat": .integer(now),
                "exp": .integer(now + Self.validity),
            ],
            key: account.key
        )
    }
}
