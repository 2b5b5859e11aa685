import Foundation
import HTTPFetch
import Kernel
import Observability
import Signing
import Testing

/// A gateway process of a stage, with a credential of each kind for whoever calls it.
struct StageGateway {
    let process: ServiceProcess
    let address: String
    /// Of user `user-1`.
    let userToken: String
    /// With every scope.
    let serviceToken: String
    let developerToken: String

    static func start(_ stage: Stage, _ extra: [String: String] = [:]) async throws -> StageGateway {
        let key = try ECKey.generateP256()
        let publicKey = stage.folder.appendingPathComponent("jwt.pem")
        try key.publicPEM.write(to: publicKey, atomically: true, encoding: .utf8)
        let now = SystemWallClock().now.seconds
        let user = try JWTSigner.sign(
            claims: [
                "sub": "user-1", "iss": "issuer", "aud": "varsel", "iat": .integer(now), "exp": .integer(now + 3600),
            ],
            key: SigningKey(pem: key.privatePEM, keyID: nil)
        )
        let service = "vsk_all_\(Base64URL.encode(Array(repeating: 7, count: 32)))"
        let scopes = [
            "notifications:write", "notifications:literal", "notifications:cancel", "activity:write",
            "lifecycle:write", "live-activities:write", "pushes:raw", "explain:read", "users:erase",
            "campaigns:admin",
        ]
        let entry: JSONValue = [
            "id": "all", "sha256": .string(Hex.encode(SHA256.hash(service))),
            "scopes": .array(scopes.map(JSONValue.string)),
        ]
        let file = stage.folder.appendingPathComponent("services.json")
        try JSONValue.array([entry]).text.write(to: file, atomically: true, encoding: .utf8)
        let developer = String(repeating: "dev-", count: 8)
        let settings = [
            "GATEWAY_LISTEN": "127.0.0.1:0", "JWT_PUBLIC_KEY_FILE": publicKey.path, "JWT_ISSUER": "issuer",
            "JWT_AUDIENCE": "varsel", "SERVICE_CREDENTIALS_FILE": file.path, "DEV_API_TOKEN": developer,
        ]
        let process = try stage.start("api-gateway", settings.merging(extra) { $1 })
        var port: Int64?
        try await stage.eventually("the gateway listens") {
            for line in process.output.split(separator: "\n") {
                let entry = try? JSONValue(parsing: String(line))
                if entry?["message"] == "listening" { port = entry?["port"]?.integerValue }
            }
            return port != nil
        }
        return StageGateway(
            process: process,
            address: "http://127.0.0.1:\(try #require(port))",
            userToken: user,
            serviceToken: service,
            developerToken: developer
        )
    }

    /// One request; the status and what came with it.
    @discardableResult
    func send(
        _ method: FetchRequest.Method,
        _ path: String,
        bearer: String? = nil,
        developer: String? = nil,
        _ body: JSONValue? = nil
    ) async throws -> (status: Int, json: JSONValue) {
        var options = FetchOptions(name: "test")
        options.plainHTTP = .loopback
        let fetch = HTTPFetch(options: options, telemetry: .silent())
        var headers: [(name: String, value: String)] = []
        if let bearer { headers.append(("authorization", "Bearer \(bearer)")) }
        if let developer { headers.append(("x-dev-token", developer)) }
        if body != nil { headers.append(("content-type", "application/json")) }
        let result: Result<FetchResponse, any Error>
        do {
            let request = FetchRequest(method, address + path, headers: headers, body: body?.utf8 ?? [])
            result = .success(try await fetch.send(request))
        } catch {
            result = .failure(error)
        }
        await fetch.close()
        let answer = try result.get()
        return (answer.status, answer.body.isEmpty ? .null : try JSONValue(parsing: answer.body))
    }
}
