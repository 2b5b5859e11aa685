import HTTPServer
import Kernel

/// FCM's part of the control interface, and the token endpoint of its project: `http://HOST:PORT/token`.
struct FCMControlAPI: Sendable {
    /// How long a token request waits that a fault lets hang: longer than any client.
    private static let hanging = Duration.seconds(120)

    let fcm: FCMHandler

    func add(to router: inout Router) {
        router.on(.post, "/token", limits: RouteLimits(bodyBytes: 16 * 1024)) { request in try await token(request) }
        router.on(.post, "/fcm/faults", limits: RouteLimits(bodyBytes: 256 * 1024)) { request in
            try ControlAPI.addFaults(request, to: fcm.faults)
        }
        router.on(.post, "/fcm/token-faults") { request in try ControlAPI.addFaults(request, to: fcm.tokenFaults) }
        router.on(.delete, "/fcm/faults") { _ in
            fcm.faults.clear()
            fcm.tokenFaults.clear()
            return .noContent
        }
        router.on(.delete, "/fcm/access-tokens") { _ in
            fcm.tokens.revokeAll()
            return .noContent
        }
        router.on(.get, "/fcm/stats") { _ in
            .json([
                "accessTokens": .integer(fcm.tokens.issued),
                "connections": .integer(fcm.connections),
                "peakStreams": .integer(fcm.peakStreams),
                "faults": .integer(fcm.faults.count),
            ])
        }
    }

    private func token(_ request: HTTPRequest) async throws -> HTTPResponse {
        if let fault = fcm.tokenFaults.strike(token: "token") {
            if fault.delay > .zero { try await Task.sleep(for: fault.delay) }
            switch fault.action {
            case .accept: break
            case .refuse(let status, let reason, _, _): return .json(["error": .string(reason)], status: status)
            default:
                try await Task.sleep(for: Self.hanging)
                return HTTPResponse(status: 503)
            }
        }
        guard let form = Self.form(request.body) else {
            return .json(["error": "invalid_request", "error_description": "The body is no form."], status: 400)
        }
        do throws(FCMAccessTokens.Refusal) {
            let issued = try fcm.tokens.exchange(form, audience: "http://\(request.headers["host"] ?? "")/token")
            return .json([
                "access_token": .string(issued.token), "expires_in": .integer(issued.seconds), "token_type": "Bearer",
            ])
        } catch {
            return .json(
                ["error": .string(error.error), "error_description": .string(error.description)],
                status: 400
            )
        }
    }

    /// The fields of an `application/x-www-form-urlencoded` body, `nil` for one that is none.
    private static func form(_ body: [UInt8]) -> [String: String]? {
        var fields: [String: String] = [:]
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = decoded(parts[0]), let value = decoded(parts[1]) else { return nil }
            fields[name] = value
        }
        return fields
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        var output: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): output.append(0x20)
            case UInt8(ascii: "%"):
                guard let value = Hex.decode(String(decoding: rest.prefix(2), as: UTF8.self)), value.count == 1 else {
                    return nil
                }
                output.append(value[0])
                rest = rest.dropFirst(2)
            default: output.append(byte)
            }
        }
        return String(validating: output, as: UTF8.self)
    }
}
