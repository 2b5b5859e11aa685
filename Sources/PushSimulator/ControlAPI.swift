import HTTPServer
import Kernel

/// The simulator's control interface: what arrived, and which faults are in force. Plain HTTP on the loopback.
struct ControlAPI: Sendable {
    private static let listLimit = 1000
    private static let defaultListLimit = 100

    let apns: APNsHandler
    var fcm: FCMHandler?

    var router: Router {
        var router = Router()
        router.on(.get, "/healthz") { _ in .json(["status": "ok"]) }
        router.on(.get, "/pushes") { request in try pushes(request) }
        router.on(.delete, "/pushes") { _ in
            apns.log.clear()
            return .noContent
        }
        router.on(.get, "/pushes/count") { _ in
            let counts = apns.log.counts
            return .json(["accepted": .integer(counts.accepted), "duplicates": .integer(counts.duplicates)])
        }
        router.on(.get, "/stats") { _ in .json(stats()) }
        router.on(.post, "/faults", limits: RouteLimits(bodyBytes: 256 * 1024)) { request in
            try Self.addFaults(request, to: apns.faults)
        }
        router.on(.delete, "/faults") { _ in
            apns.faults.clear()
            return .noContent
        }
        router.on(.post, "/connections/goaway") { request in
            apns.endConnections(reason: request.query("reason"))
            return .noContent
        }
        router.on(.post, "/connections/drop") { _ in
            apns.dropConnections()
            return .noContent
        }
        router.on(.put, "/clock") { request in try setClock(request) }
        if let fcm { FCMControlAPI(fcm: fcm).add(to: &router) }
        return router
    }

    /// The newest pushes first: `?token=` for one device, `?limit=` up to 1,000.
    private func pushes(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        var limit = Self.defaultListLimit
        if let text = request.query("limit") {
            guard let number = Int(text), (1...Self.listLimit).contains(number) else {
                throw Problem(
                    status: 422,
                    slug: "bad-limit",
                    title: "Bad limit",
                    detail: "limit is a whole number from 1 to \(Self.listLimit)."
                )
            }
            limit = number
        }
        var writer = JSONWriter(capacity: 64 * 1024)
        let found = apns.log.pushes(token: request.query("token"), limit: limit)
        writer.object { writer in
            writer.member("accepted", apns.log.counts.accepted)
            writer.name("pushes")
            writer.array { writer in
                for push in found { push.write(into: &writer) }
            }
        }
        return .json(writer.bytes)
    }

    private func stats() -> JSONValue {
        let counts = apns.log.counts
        let refused = counts.refused.sorted { $0.key < $1.key }.map { JSONMember($0.key, .integer($0.value)) }
        return [
            "accepted": .integer(counts.accepted),
            "unanswered": .integer(counts.unanswered),
            "duplicates": .integer(counts.duplicates),
            "duplicatesAreExact": .bool(counts.duplicatesAreExact),
            "refused": .object(refused),
            "openConnections": .integer(apns.openConnections),
            "clockSkewSeconds": .integer(apns.clock.skew.milliseconds / 1000),
            "authenticatedConnections": .integer(apns.authenticatedConnections),
            "faults": .integer(apns.faults.count),
        ]
    }

    /// `{"skewSeconds": 7200}`: how far Apple's clock is ahead of this machine's, up to a year either way.
    private func setClock(_ request: HTTPRequest) throws -> HTTPResponse {
        guard let seconds = try request.json()["skewSeconds"]?.integerValue, abs(seconds) <= 366 * 86_400 else {
            throw Problem(
                status: 422,
                slug: "bad-clock",
                title: "Bad clock",
                detail: "skewSeconds is a whole number of seconds, a year at most."
            )
        }
        apns.clock.skew = .seconds(seconds)
        return .json(["skewSeconds": .integer(seconds)])
    }

    /// One rule or a list of them, all or nothing.
    static func addFaults(_ request: HTTPRequest, to faults: FaultPlan) throws -> HTTPResponse {
        let body = try request.json()
        let rules: [FaultRule]
        do {
            rules = try (body.arrayValue ?? [body]).map { value throws(FaultRuleError) in try FaultRule(json: value) }
        } catch {
            throw Problem(status: 422, slug: "bad-fault", title: "Bad fault", detail: String(describing: error))
        }
        guard faults.add(rules) else {
            throw Problem(
                status: 409,
                slug: "too-many-faults",
                title: "Too many faults",
                detail: "At most \(FaultPlan.limit) faults are in force; DELETE ends them."
            )
        }
        return .json(["faults": .integer(faults.count)], status: 201)
    }
}
