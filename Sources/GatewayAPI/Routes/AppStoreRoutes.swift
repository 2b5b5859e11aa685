import HTTPServer
import Kernel
import Notifications
import Observability
import Producers

/// The webhook of App Store Server Notifications V2 (P6): verify, keep, answer. What they mean is the lifecycle producer's concern.
struct AppStoreRoutes: Sendable {
    private static let bodyLimit = 256 * 1024

    let ports: AppStorePorts
    let telemetry: Telemetry

    var endpoints: [Endpoint] {
        AppStoreEnvironment.allCases.map { environment in
            Endpoint(
                .post,
                "/api/v1/webhooks/app-store/\(environment.rawValue)",
                access: .optionalUser,
                summary: "App Store Server Notifications V2 of \(environment.claim)",
                limits: RouteLimits(bodyBytes: Self.bodyLimit)
            ) { request, _ in
                try await receive(request, environment)
            }
            .described(.appStoreWebhook(environment))
        } + [
            .user(
                .post,
                "/api/v1/subscriptions/link",
                summary: "Tie a subscription bought outside the app to its user"
            ) { request, user in
                try await link(request, user)
            }
            .described(.linkSubscription)
        ]
    }

    private func receive(_ request: HTTPRequest, _ environment: AppStoreEnvironment) async throws -> HTTPResponse {
        guard let payload = try request.json()["signedPayload"]?.stringValue else {
            count(environment, "malformed_body")
            throw Problem.noSignedPayload
        }
        let notification: AppStoreNotification
        do {
            notification = try await ports.verifier.notification(payload, environment: environment)
        } catch {
            throw refused(error, environment, .notificationRefused)
        }
        let isNew = try await ports.intake.receive(notification, signedPayload: payload)
        telemetry.metrics.counter(
            "app_store_notifications_total",
            help: "Verified notifications of the App Store.",
            labels: [("environment", environment.rawValue), ("result", isNew ? "kept" : "duplicate")]
        )
        .increment()
        return .data(["duplicate": .bool(!isNew)])
    }

    private func link(_ request: HTTPRequest, _ user: UserID) async throws -> HTTPResponse {
        var body = try BodyReader(request)
        // A transaction with its chain has about four thousand bytes.
        let token = body.requiredText("signedTransaction", limit: 32 * 1024)
        try body.finish()
        let transaction: AppStoreTransaction
        let environment: AppStoreEnvironment
        do {
            (transaction, environment) = try await ports.verifier.transaction(token ?? "")
        } catch {
            throw refused(error, nil, .transactionRefused)
        }
        guard transaction.isAutoRenewable else { throw Problem.transactionRefused }
        // The token was set by whoever bought: another user's is proof enough.
        if let owner = transaction.appAccountToken, owner != user.rawValue.lowercased() { throw Problem.noSubscription }
        switch try await ports.intake.claim(transaction, environment, user: user) {
        case .linked: return .data(["status": "linked"])
        case .accepted: return .data(["status": "accepted"], status: 202)
        case .foreign: throw Problem.noSubscription
        }
    }

    /// The refusal as it is answered: why is counted and logged, and not told to whoever tries.
    private func refused(_ error: any Error, _ environment: AppStoreEnvironment?, _ problem: Problem) -> any Error {
        switch error {
        case let refusal as AppStoreRefusal:
            count(environment, refusal.reason)
            telemetry.logger.warning(
                "refused what claims to be from the App Store",
                ["reason": .string(refusal.reason), "environment": .optional(environment?.rawValue)]
            )
            return problem
        case let outage as RevocationOutage:
            return Unavailable(dependency: "ocsp", reason: outage.description)
        default:
            return error
        }
    }

    private func count(_ environment: AppStoreEnvironment?, _ reason: String) {
        telemetry.metrics.counter(
            "app_store_refused_total",
            help: "What claimed to be from the App Store and was refused, by reason.",
            labels: [("environment", environment?.rawValue ?? "any"), ("reason", reason)]
        )
        .increment()
    }
}

extension Problem {
    fileprivate static let noSignedPayload = Problem(
        status: 400,
        slug: "no-signed-payload",
        title: "Bad request",
        detail: "The body must be an object with the text signedPayload.",
        pointer: "/signedPayload"
    )

    fileprivate static let notificationRefused = Problem(
        status: 403,
        slug: "notification-refused",
        title: "Not accepted",
        detail: "The notification is not accepted here."
    )

    fileprivate static let transactionRefused = Problem(
        status: 422,
        slug: "transaction-refused",
        title: "Unprocessable request",
        detail: "The transaction is none of this app's auto-renewable subscriptions.",
        pointer: "/signedTransaction"
    )

    fileprivate static let noSubscription = Problem(
        status: 404,
        slug: "not-found",
        title: "Not found",
        detail: "There is no such subscription for this user."
    )
}
