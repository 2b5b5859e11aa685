import Kernel
package import Signing

/// Why something from the App Store is not accepted.
package enum AppStoreRefusal: Error, Sendable, Equatable {
    /// Signature, chain or form of the outer token.
    case signature(ChainRefusal)
    /// Another app's, or nobody's.
    case identifier
    /// Of the other store, or of Xcode.
    case environment
    /// `notificationUUID` is missing or no UUID.
    case notificationUUID
    /// A token within the token does not verify, or belongs to another app or store.
    case nested
    /// Transaction and renewal information are about different subscriptions.
    case disagreement

    /// A metric label.
    package var reason: String {
        switch self {
        case .signature(let refusal): refusal.rawValue
        case .identifier: "identifier"
        case .environment: "environment"
        case .notificationUUID: "notification_uuid"
        case .nested: "nested"
        case .disagreement: "disagreement"
        }
    }

    /// Every reason there is.
    package static var reasons: [String] {
        ChainRefusal.allCases.map(\.rawValue)
            + [Self.identifier, .environment, .notificationUUID, .nested, .disagreement].map(\.reason)
    }
}

/// Verifies what the App Store signs for one app: notifications, transactions, renewal information.
///
/// It accepts and refuses as Apple's own server libraries do, and is stricter where they leave something open: an id that is no
/// UUID, a missing or future date, tokens within the token that do not verify or do not agree.
package struct AppStoreVerifier: Sendable {
    private let signed: SignedDataVerifier
    private let bundleID: String
    private let appAppleID: Int64?

    /// - Parameter appAppleID: the app's number in the store; without one nothing of production is accepted.
    package init(signed: SignedDataVerifier, bundleID: String, appAppleID: Int64?) {
        self.signed = signed
        self.bundleID = bundleID
        self.appAppleID = appAppleID
    }

    /// - Throws: `AppStoreRefusal`, or what the revocation check throws when nobody could be asked.
    package func notification(
        _ signedPayload: String,
        environment: AppStoreEnvironment
    ) async throws -> AppStoreNotification {
        let payload = try await outer(signedPayload)
        try checkOwner(of: payload, environment: environment)
        // A UUID in either case; one spelling is kept.
        guard let uuid = payload["notificationUUID"]?.stringValue.flatMap({ UUIDBits($0) }) else {
            throw AppStoreRefusal.notificationUUID
        }
        let data = payload["data"]
        let transaction = try await transaction(in: data, environment: environment)
        let renewal = try await renewal(in: data, environment: environment)
        if let transaction, let renewal, transaction.originalTransactionID != renewal.originalTransactionID {
            throw AppStoreRefusal.disagreement
        }
        guard let signedAt = payload.moment("signedDate") else { throw AppStoreRefusal.signature(.signedDate) }
        return AppStoreNotification(
            environment: environment,
            uuid: uuid,
            type: payload.text("notificationType") ?? "",
            subtype: payload.text("subtype"),
            signedAt: signedAt,
            status: data?["status"]?.integerValue.flatMap { Int(exactly: $0) },
            transaction: transaction,
            renewal: renewal
        )
    }

    /// A transaction as the app shows it, with the store it is of.
    package func transaction(
        _ signedTransaction: String
    ) async throws -> (AppStoreTransaction, AppStoreEnvironment) {
        let claims = try await outer(signedTransaction)
        guard claims["bundleId"]?.stringValue == bundleID else { throw AppStoreRefusal.identifier }
        guard let environment = AppStoreEnvironment(claim: claims["environment"]?.stringValue) else {
            throw AppStoreRefusal.environment
        }
        guard let transaction = AppStoreTransaction(claims: claims) else { throw AppStoreRefusal.identifier }
        return (transaction, environment)
    }

    /// A transaction of the given store, as Apple's server answers it.
    package func transaction(
        _ token: String,
        environment: AppStoreEnvironment
    ) async throws -> AppStoreTransaction {
        let (transaction, found) = try await transaction(token)
        guard found == environment else { throw AppStoreRefusal.environment }
        return transaction
    }

    /// Renewal information of the given store. It names no app; what it belongs to is told by its transaction.
    package func renewal(_ token: String, environment: AppStoreEnvironment) async throws -> AppStoreRenewal {
        let claims = try await outer(token)
        guard claims["environment"]?.stringValue == environment.claim else { throw AppStoreRefusal.environment }
        guard let renewal = AppStoreRenewal(claims: claims) else { throw AppStoreRefusal.identifier }
        return renewal
    }

    private func outer(_ token: String) async throws -> JSONValue {
        do {
            return try await signed.payload(of: token)
        } catch let refusal as ChainRefusal {
            throw AppStoreRefusal.signature(refusal)
        }
    }

    /// The part that tells app and store; without one a payload is no notification. That also stops customers' own transactions,
    /// which Apple signed as well.
    private func checkOwner(of payload: JSONValue, environment: AppStoreEnvironment) throws(AppStoreRefusal) {
        let names = ["data", "summary", "externalPurchaseToken", "appData"]
        guard let name = names.first(where: { payload[$0].map { !$0.isNull } ?? false }), let part = payload[name],
            part["bundleId"]?.stringValue == bundleID
        else { throw .identifier }
        if environment == .production {
            guard let appAppleID, part["appAppleId"]?.integerValue == appAppleID else { throw .identifier }
        }
        let found: AppStoreEnvironment?
        if name == "externalPurchaseToken" {
            let id = part["externalPurchaseId"]?.stringValue ?? ""
            found = id.hasPrefix("SANDBOX") ? .sandbox : .production
        } else {
            found = AppStoreEnvironment(claim: part["environment"]?.stringValue)
        }
        guard found == environment else { throw .environment }
    }

    private func transaction(
        in data: JSONValue?,
        environment: AppStoreEnvironment
    ) async throws -> AppStoreTransaction? {
        guard let member = data?["signedTransactionInfo"], !member.isNull else { return nil }
        return try await nested(member) { token in try await transaction(token, environment: environment) }
    }

    private func renewal(in data: JSONValue?, environment: AppStoreEnvironment) async throws -> AppStoreRenewal? {
        guard let member = data?["signedRenewalInfo"], !member.isNull else { return nil }
        return try await nested(member) { token in try await renewal(token, environment: environment) }
    }

    private func nested<Value>(_ member: JSONValue, _ verify: (String) async throws -> Value) async throws -> Value {
        guard let token = member.stringValue else { throw AppStoreRefusal.nested }
        do {
            return try await verify(token)
        } catch is AppStoreRefusal {
            throw AppStoreRefusal.nested
        }
    }
}
