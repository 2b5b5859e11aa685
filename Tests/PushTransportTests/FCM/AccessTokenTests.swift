import HTTPFetch
import Kernel
import Signing
import Synchronization
import Testing

@testable import PushTransport

struct AccessTokenTests {
    /// Issues numbered tokens, fails as told, and counts; it waits while its gate is closed.
    private final class Issuer: AccessTokenIssuing {
        let asked = Mutex(0)
        let failure = Mutex<AccessTokenError?>(nil)
        let holding = Mutex<(isClosed: Bool, waiter: CheckedContinuation<Void, Never>?)>((false, nil))

        func issue() async throws(AccessTokenError) -> IssuedToken {
            let number = asked.withLock { count in
                count += 1
                return count
            }
            await withCheckedContinuation { continuation in
                let isClosed = holding.withLock { holding in
                    if holding.isClosed { holding.waiter = continuation }
                    return holding.isClosed
                }
                if !isClosed { continuation.resume() }
            }
            if let error = failure.withLock({ $0 }) { throw error }
            return try IssuedToken(text: "token-\(number)", seconds: 3600)
        }

        func close() { holding.withLock { $0.isClosed = true } }
        func open() {
            let waiter = holding.withLock { holding in
                defer { holding = (false, nil) }
                return holding.waiter
            }
            waiter?.resume()
        }
        var count: Int { asked.withLock { $0 } }
    }

    private func source(_ issuer: Issuer, _ clock: ShiftedClock) -> AccessTokenSource {
        AccessTokenSource(
            issuer: issuer,
            backoff: Backoff(base: .seconds(10), limit: .seconds(600)),
            now: { clock.now },
            onAnswer: { _ in }
        )
    }

    @Test(.timeLimit(.minutes(1)))
    func `many ask, one request is made`() async throws {
        let issuer = Issuer()
        let source = source(issuer, ShiftedClock())
        issuer.close()
        try await withThrowingTaskGroup(of: AccessToken.self) { group in
            for _ in 0..<100 { group.addTask { try await source.token() } }
            while issuer.count == 0 { try await Task.sleep(for: .milliseconds(1)) }
            issuer.open()
            for try await token in group { #expect(token.header == "Bearer token-1") }
        }
        #expect(issuer.count == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a token is renewed five minutes early, and served meanwhile`() async throws {
        let issuer = Issuer()
        let clock = ShiftedClock()
        let source = source(issuer, clock)
        let first = try await source.token()
        clock.advance(by: .seconds(3298))
        #expect(source.current == first)
        #expect(issuer.count == 1)
        issuer.close()
        clock.advance(by: .seconds(4))
        // Asked for anew, but the old one still is served, whoever asks.
        for _ in 0..<10 { #expect(source.current == first) }
        while issuer.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        issuer.open()
        while source.current == first { try await Task.sleep(for: .milliseconds(1)) }
        #expect(source.current?.header == "Bearer token-2")
        #expect(issuer.count == 2)
    }

    @Test func `a token that has ended is not served`() async throws {
        let issuer = Issuer()
        let clock = ShiftedClock()
        let source = source(issuer, clock)
        _ = try await source.token()
        clock.advance(by: .seconds(3601))
        #expect(source.current == nil)
        let next = try await source.token()
        #expect(next.header == "Bearer token-2")
    }

    @Test func `after a failure nobody asks until the wait is over`() async throws {
        let issuer = Issuer()
        let clock = ShiftedClock()
        let source = source(issuer, clock)
        let error = AccessTokenError(.unavailable, "away")
        issuer.failure.withLock { $0 = error }
        for _ in 0..<5 { await #expect(throws: error) { try await source.token() } }
        #expect(issuer.count == 1)
        clock.advance(by: .seconds(11))
        await #expect(throws: error) { try await source.token() }
        #expect(issuer.count == 2)
        issuer.failure.withLock { $0 = nil }
        clock.advance(by: .seconds(21))
        let token = try await source.token()
        #expect(token.generation == 1)
    }

    @Test func `a refused token is given up once, and not when it is young`() async throws {
        let clock = ShiftedClock()
        let issuer = Issuer()
        let source = source(issuer, clock)
        let token = try await source.token()
        #expect(source.refuse(token) == .tooYoung)
        clock.advance(by: AccessTokenSource.minimumAge)
        #expect(source.refuse(token) == .renewed)
        let next = try await source.token()
        #expect(next != token)
        // Late answers to the old one change nothing.
        #expect(source.refuse(token) == .renewed)
        #expect(source.current == next)
    }

    @Test(
        arguments: [
            (200, #"{"access_token":"abc","expires_in":3599}"#, nil), (200, #"{"access_token":"abc"}"#, .malformed),
            (200, #"{"access_token":"a b","expires_in":1}"#, .malformed), (200, "<html>", .malformed),
            (200, #"{"access_token":"abc","expires_in":0}"#, .malformed),
            (400, #"{"error":"invalid_grant"}"#, .refused), (401, #"{"error":"invalid_client"}"#, .refused),
            (403, "", .refused), (500, "", .unavailable), (503, "<html>", .unavailable), (429, "", .unavailable),
        ] as [(Int, String, AccessTokenError.Code?)]
    )
    func `an answer of the token endpoint is a token or a named failure`(
        _ status: Int,
        _ body: String,
        _ expected: AccessTokenError.Code?
    ) {
        var code: AccessTokenError.Code?
        do throws(AccessTokenError) {
            let token = try AccessTokenExchange.read(FetchResponse(status: status, headers: [], body: Array(body.utf8)))
            #expect(token.lifetime == .seconds(3599))
        } catch {
            code = error.code
            #expect(!error.description.contains("abc"))
        }
        #expect(code == expected)
    }

    // MARK: The operator's command

    @Test func `a command's token is read`() async throws {
        let command = TokenCommand(#"printf '{"access_token":"abc","expires_in":%d,"token_type":"Bearer"}\n' 3599"#)
        let token = try await command.issue()
        #expect(token.text == "abc" && token.lifetime == .seconds(3599))
    }

    @Test(arguments: [
        ("exit 3", AccessTokenError.Code.command, "code 3"), ("kill -9 $$", .command, "signal 9"),
        ("sleep 60 & sleep 60", .command, "in time"), ("yes", .command, "in time, or printed more"),
        ("echo secret", .malformed, "no JSON"), ("echo '{}'", .malformed, "no access_token"),
        ("no-such-command-here", .command, "code 127"),
    ])
    func `a command that fails is told apart, and never quoted`(
        _ line: String,
        _ code: AccessTokenError.Code,
        _ part: String
    ) async {
        var command = TokenCommand(line)
        command.deadline = .milliseconds(500)
        do throws(AccessTokenError) {
            _ = try await command.issue()
            Issue.record("there is no token")
        } catch {
            #expect(error.code == code)
            #expect(error.message.contains(part), "\(error)")
            #expect(!error.message.contains("secret"))
        }
    }

    // MARK: The service account

    @Test func `a service account is read`() throws {
        let json = try FCMBench.accountJSON(tokenURL: "https://oauth2.googleapis.com/token")
        let account = try ServiceAccount(json: json.utf8)
        #expect(account.projectID == FCMBench.projectID && account.clientEmail == FCMBench.email)
        #expect(account.key.keyID == FCMBench.keyID)
    }

    @Test(
        arguments: [
            ("type", JSONValue.string("authorized_user"), "type"), ("project_id", nil, "project_id"),
            ("project_id", "../x", "project id"), ("private_key", "nonsense", "private_key"),
            ("private_key_id", nil, "private_key_id"), ("client_email", "", "client_email"),
            ("token_uri", "http://example.com/token", "token_uri"), ("token_uri", "nonsense", "token_uri"),
        ] as [(String, JSONValue?, String)]
    )
    func `a service account that is none names what is wrong`(_ name: String, _ value: JSONValue?, _ part: String)
        throws
    {
        let json = try FCMBench.accountJSON(tokenURL: "https://a/token", changing: name, to: value)
        do throws(FCMCredentialError) {
            _ = try ServiceAccount(json: json.utf8)
            Issue.record("it was taken")
        } catch {
            #expect(error.description.contains(part))
            #expect(!error.description.contains("BEGIN"))
        }
    }
}
