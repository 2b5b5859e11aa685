import Foundation
import HTTPFetch
import Kernel
import Observability
import Signing
import Synchronization
import TestSupport
import Testing

/// Two gateways behind the nginx of `deploy/`, restarted one after the other while clients go on.
@Suite(.serialized) struct RollingRestartTests {
    /// What the requests of all tasks have come to.
    private final class Load: Sendable {
        let isOver = Atomic<Bool>(false)
        let done = Atomic<Int>(0)
        let failures = Mutex<[String]>([])
    }

    private static let serviceToken = "vsk_e2e_" + Base64URL.encode([UInt8](repeating: 9, count: 32))

    @Test(.timeLimit(.minutes(3)))
    func `a rolling restart loses no request, and nginx logs no token (G2, G11, O1)`() async throws {
        try await Stage.run { stage in
            let key = try ECKey.generateP256()
            let environment = try prepare(stage, publicKey: key.publicPEM)
            let ports = [(freePort(), freePort()), (freePort(), freePort())]
            let plain = client("ready", trustedPEM: nil)
            var gateways: [ServiceProcess] = []
            for (port, metrics) in ports {
                gateways.append(try start(stage, environment, port, metrics))
                try await ready(stage, plain, metrics)
            }
            let front = freePort()
            let nginx = try startNginx(stage, front, ports.map(\.0))
            let certificate = try String(contentsOfFile: stage.folder.path + "/nginx/cert.pem", encoding: .utf8)
            let fetch = client("load", trustedPEM: certificate)
            let base = "https://127.0.0.1:\(front)/api"
            try await stage.eventually("nginx answers") {
                (try? await fetch.send(FetchRequest(.get, base + "/v2/notifications")))?.status == 401
            }

            let token = try accessToken(key.privatePEM)
            let load = Load()
            let started = gateways
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<6 {
                    group.addTask {
                        while !load.isOver.load(ordering: .relaxed) {
                            let number = load.done.wrappingAdd(1, ordering: .relaxed).newValue
                            let request = Self.request(number, client, base, token)
                            do {
                                let status = try await fetch.send(request).status
                                if !(200...299).contains(status) {
                                    load.failures.withLock { $0.append("\(request.url): \(status)") }
                                }
                            } catch {
                                load.failures.withLock { $0.append("\(request.url): \(error)") }
                            }
                        }
                    }
                }
                group.addTask {
                    defer { load.isOver.store(true, ordering: .relaxed) }
                    var running = started
                    // Twice around.
                    for index in [0, 1, 0, 1] {
                        let before = load.done.load(ordering: .relaxed)
                        try await stage.eventually("requests go on") {
                            load.done.load(ordering: .relaxed) > before + 100
                        }
                        running[index].send(SIGTERM)
                        #expect(await running[index].ended() == 0)
                        running[index] = try start(stage, environment, ports[index].0, ports[index].1)
                        try await ready(stage, plain, ports[index].1)
                    }
                    let before = load.done.load(ordering: .relaxed)
                    try await stage.eventually("requests go on") { load.done.load(ordering: .relaxed) > before + 100 }
                }
                try await group.waitForAll()
            }
            let failed = load.failures.withLock { $0 }
            #expect(failed.isEmpty, "\(failed.count) of \(load.done.load(ordering: .relaxed)): \(failed.prefix(5))")

            let device = String(repeating: "c0ffee42", count: 8)
            _ = try await fetch.send(FetchRequest(.get, base + "/v1/notifications/device-token/\(device)"))
            try await refusals(fetch, base)
            await stage.endWorkers()
            let gone = try await fetch.send(FetchRequest(.get, base + "/v2/notifications"))
            #expect(Self.problem(gone) == "502 urn:varsel:problem:no-gateway")
            #expect(gone.header("retry-after") == "2")
            await fetch.close()
            await plain.close()
            try await nginx.end(SIGTERM)
            for file in ["varsel.log", "varsel-error.log", "error.log"] {
                let text = (try? String(contentsOfFile: stage.folder.path + "/nginx/" + file, encoding: .utf8)) ?? ""
                #expect(!text.contains(device.prefix(20)), "\(file)")
                if file == "varsel.log" { #expect(text.contains("/device-token/***")) }
            }
        }
    }

    /// What nginx answers by itself has the form of the gateway's own problems.
    private func refusals(_ fetch: HTTPFetch, _ base: String) async throws {
        let large = [UInt8](repeating: 0x20, count: 70_000)
        let cases: [(FetchRequest, String)] = [
            (FetchRequest(.get, base.replacing("/api", with: "/metrics")), "404 urn:varsel:problem:not-found"),
            (
                FetchRequest(.post, base + "/v1/notifications", body: large),
                "413 urn:varsel:problem:body-too-large"
            ),
            (
                FetchRequest(.get, base + "/" + String(repeating: "a", count: 20_000)),
                "414 urn:varsel:problem:uri-too-long"
            ),
            (
                // Larger than nginx takes in elsewhere, and left to the gateway to judge.
                FetchRequest(.post, base + "/v1/campaigns/none/list", body: large),
                "401 urn:varsel:problem:unauthenticated"
            ),
        ]
        for (request, expected) in cases {
            let answer = try await fetch.send(request)
            #expect(Self.problem(answer) == expected, "\(request.url.prefix(80))")
            #expect(answer.header("content-type") == "application/problem+json")
        }
    }

    private static func problem(_ answer: FetchResponse) -> String {
        let type = (try? JSONValue(parsing: answer.body))?["type"]?.stringValue
        return "\(answer.status) \(type ?? "without a type")"
    }

    private static func request(_ number: Int, _ client: Int, _ base: String, _ token: String) -> FetchRequest {
        let json = (name: "content-type", value: "application/json")
        switch number % 3 {
        case 0:
            return FetchRequest(.get, base + "/v2/notifications", headers: [("authorization", "Bearer \(token)")])
        case 1:
            let body = #"{"token":"fcm-\#(client)","provider":"fcm","deviceId":"phone-\#(client)"}"#
            return FetchRequest(
                .post,
                base + "/v1/notifications/device-token",
                headers: [("authorization", "Bearer \(token)"), json],
                body: Array(body.utf8)
            )
        default:
            return FetchRequest(
                .post,
                base + "/v1/notifications",
                headers: [("authorization", "Bearer \(serviceToken)"), json],
                body: Array(#"{"userId":"u\#(number)","category":"reminder","body":"Hello"}"#.utf8)
            )
        }
    }

    private func client(_ name: String, trustedPEM: String?) -> HTTPFetch {
        var options = FetchOptions(name: name)
        options.plainHTTP = .loopback
        options.trustedPEM = trustedPEM
        options.totalTimeout = .seconds(30)
        return HTTPFetch(options: options, telemetry: .silent())
    }

    private func accessToken(_ pem: String) throws -> String {
        let now = SystemWallClock().now.seconds
        return try JWTSigner.sign(
            claims: [
                "sub": "rolling", "iss": "e2e", "aud": "varsel", "iat": .integer(now), "exp": .integer(now + 3600),
            ],
            key: SigningKey(pem: pem)
        )
    }

    private func prepare(_ stage: Stage, publicKey: String) throws -> [String: String] {
        let digest = Hex.encode(SHA256.hash(Self.serviceToken))
        let files = [
            "jwt.pem": publicKey,
            "credentials.json":
                #"[{"id":"e2e","sha256":"\#(digest)","scopes":["notifications:write","notifications:literal"]}]"#,
        ]
        for (name, text) in files {
            try text.write(to: stage.folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        return [
            "JWT_PUBLIC_KEY_FILE": stage.folder.path + "/jwt.pem", "JWT_ISSUER": "e2e", "JWT_AUDIENCE": "varsel",
            "SERVICE_CREDENTIALS_FILE": stage.folder.path + "/credentials.json", "TRUSTED_PROXIES": "127.0.0.1",
            "GATEWAY_REGISTRATIONS_PER_MINUTE": "1000000",
        ]
    }

    private func start(_ stage: Stage, _ environment: [String: String], _ port: Int, _ metrics: Int) throws
        -> ServiceProcess
    {
        let extra = ["GATEWAY_LISTEN": "127.0.0.1:\(port)", "METRICS_LISTEN": "127.0.0.1:\(metrics)"]
        return try stage.start("api-gateway", environment.merging(extra) { $1 })
    }

    private func ready(_ stage: Stage, _ plain: HTTPFetch, _ metrics: Int) async throws {
        try await stage.eventually("the gateway is ready") {
            (try? await plain.send(FetchRequest(.get, "http://127.0.0.1:\(metrics)/readyz")))?.status == 200
        }
    }

    private func startNginx(_ stage: Stage, _ front: Int, _ ports: [Int]) throws -> ServerProcess {
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let folder = stage.folder.path + "/nginx"
        // nginx started by root works as another user, who must get to its folder.
        chmod(stage.folder.path, 0o755)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments =
            [
                "-euc",
                #"repository=$1; shift; . "$repository/scripts/lib/common.sh"; . "$repository/scripts/lib/nginx.sh"; make_nginx_configuration "$@""#,
                "nginx", repository, folder, String(front),
            ] + ports.map { "127.0.0.1:\($0)" }
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw StageError(description: "no nginx configuration") }
        return try ServerProcess(
            ["nginx", "-c", folder + "/nginx.conf", "-g", "daemon off;"],
            output: stage.folder.path + "/nginx.out"
        )
    }
}
