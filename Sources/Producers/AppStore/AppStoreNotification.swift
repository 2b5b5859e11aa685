package import Kernel

/// Which of Apple's two stores something comes from. They never mix: every key names one.
package enum AppStoreEnvironment: String, Sendable, CaseIterable {
    case production, sandbox

    /// As Apple writes it into payloads.
    package var claim: String { self == .production ? "Production" : "Sandbox" }

    package init?(claim: String?) {
        guard let found = Self.allCases.first(where: { $0.claim == claim }) else { return nil }
        self = found
    }
}

/// What a verified notification says, as far as subscriptions are concerned.
package struct AppStoreNotification: Sendable, Equatable {
    package var environment: AppStoreEnvironment
    package var uuid: UUIDBits
    /// An open set: what Apple adds later arrives here too. Empty when it is missing.
    package var type: String
    package var subtype: String?
    package var signedAt: Timestamp
    /// 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked, as of `signedAt`.
    package var status: Int?
    package var transaction: AppStoreTransaction?
    package var renewal: AppStoreRenewal?

    package init(
        environment: AppStoreEnvironment,
        uuid: UUIDBits,
        type: String,
        subtype: String? = nil,
        signedAt: Timestamp,
        status: Int? = nil,
        transaction: AppStoreTransaction? = nil,
        renewal: AppStoreRenewal? = nil
    ) {
        self.environment = environment
        self.uuid = uuid
        self.type = type
        self.subtype = subtype
        self.signedAt = signedAt
        self.status = status
        self.transaction = transaction
        self.renewal = renewal
    }

    /// The subscription it is about.
    package var originalTransactionID: String? {
        transaction?.originalTransactionID ?? renewal?.originalTransactionID
    }
}

/// What a verified transaction says.
package struct AppStoreTransaction: Sendable, Equatable {
    package var originalTransactionID: String
    package var productID: String?
    package var subscriptionGroup: String?
    /// Lower case.
    package var appAccountToken: String?
    /// The end of the period that was paid for.
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    /// The end of a commitment that is billed monthly.
    package var commitmentExpiresAt: Timestamp?
    package var isFamilyShared = false
    package var isAutoRenewable = false
    package var signedAt: Timestamp

    package init(originalTransactionID: String, signedAt: Timestamp) {
        self.originalTransactionID = originalTransactionID
        self.signedAt = signedAt
    }

    /// - Returns: `nil` for claims without an acceptable id or without a signed date.
    package init?(claims: JSONValue) {
        guard let id = claims.subscriptionID, let signedAt = claims.moment("signedDate") else {
            return nil
        }
        self.init(originalTransactionID: id, signedAt: signedAt)
        productID = claims.text("productId")
        subscriptionGroup = claims.text("subscriptionGroupIdentifier")
        appAccountToken = claims.text("appAccountToken").flatMap { UUIDBits($0) }?.description
        expiresAt = claims.moment("expiresDate")
        revokedAt = claims.moment("revocationDate")
        commitmentExpiresAt = claims["commitmentInfo"]?.moment("commitmentExpiresDate")
        isFamilyShared = claims.text("inAppOwnershipType") == "FAMILY_SHARED"
        isAutoRenewable = claims.text("type") == "Auto-Renewable Subscription"
    }

    /// The claims that were kept, as Apple names them.
    package var claims: JSONValue {
        var members: [JSONMember] = [JSONMember("originalTransactionId", .string(originalTransactionID))]
        members.add("productId", productID)
        members.add("subscriptionGroupIdentifier", subscriptionGroup)
        members.add("appAccountToken", appAccountToken)
        members.add("expiresDate", expiresAt)
        members.add("revocationDate", revokedAt)
        if let commitmentExpiresAt {
            let info: JSONValue = ["commitmentExpiresDate": .integer(commitmentExpiresAt.milliseconds)]
            members.append(JSONMember("commitmentInfo", info))
        }
        if isFamilyShared { members.add("inAppOwnershipType", "FAMILY_SHARED") }
        if isAutoRenewable { members.add("type", "Auto-Renewable Subscription") }
        members.add("signedDate", signedAt)
        return .object(members)
    }
}

/// What verified renewal information says.
package struct AppStoreRenewal: Sendable, Equatable {
    package var originalTransactionID: String
    /// `nil` when Apple does not say.
    package var autoRenews: Bool?
    /// The product of the next period.
    package var nextProductID: String?
    package var graceExpiresAt: Timestamp?
    package var signedAt: Timestamp

    package init(originalTransactionID: String, signedAt: Timestamp) {
        self.originalTransactionID = originalTransactionID
        self.signedAt = signedAt
    }

    package init?(claims: JSONValue) {
        guard let id = claims.subscriptionID, let signedAt = claims.moment("signedDate") else {
            return nil
        }
        self.init(originalTransactionID: id, signedAt: signedAt)
        switch claims["autoRenewStatus"]?.integerValue {
        case 0: autoRenews = false
        case 1: autoRenews = true
        default: break
        }
        nextProductID = claims.text("autoRenewProductId")
        graceExpiresAt = claims.moment("gracePeriodExpiresDate")
    }

    package var claims: JSONValue {
        var members: [JSONMember] = [JSONMember("originalTransactionId", .string(originalTransactionID))]
        if let autoRenews { members.append(JSONMember("autoRenewStatus", .integer(autoRenews ? 1 : 0))) }
        members.add("autoRenewProductId", nextProductID)
        members.add("gracePeriodExpiresDate", graceExpiresAt)
        members.add("signedDate", signedAt)
        return .object(members)
    }
}

extension AppStoreNotification {
    /// What the outbox keeps beside the signed original, so that the producer need not verify anything again.
    package var facts: JSONValue {
        var members: [JSONMember] = []
        members.add("notificationType", type)
        members.add("subtype", subtype)
        members.add("signedDate", signedAt)
        if let status { members.append(JSONMember("status", .integer(status))) }
        if let transaction { members.append(JSONMember("transaction", transaction.claims)) }
        if let renewal { members.append(JSONMember("renewal", renewal.claims)) }
        return .object(members)
    }

    /// Reads `facts` back.
    package init?(facts: JSONValue, environment: AppStoreEnvironment, uuid: UUIDBits) {
        guard let signedAt = facts.moment("signedDate") else { return nil }
        self.init(
            environment: environment,
            uuid: uuid,
            type: facts.text("notificationType") ?? "",
            subtype: facts.text("subtype"),
            signedAt: signedAt,
            status: facts["status"]?.integerValue.flatMap { Int(exactly: $0) },
            transaction: facts["transaction"].flatMap { AppStoreTransaction(claims: $0) },
            renewal: facts["renewal"].flatMap { AppStoreRenewal(claims: $0) }
        )
    }
}

extension JSONValue {
    /// Apple's ids are digits; with the prefix `sub:` they must be handles of the engine (64 characters).
    fileprivate var subscriptionID: String? {
        guard let id = text("originalTransactionId"), id.utf8.count <= 60,
            id.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            })
        else { return nil }
        return id
    }

    /// A text of at most 256 bytes that is not empty.
    func text(_ name: String) -> String? {
        guard let text = self[name]?.stringValue, (1...256).contains(text.utf8.count) else { return nil }
        return text
    }

    /// Milliseconds since 1970, up to the year 9999.
    func moment(_ name: String) -> Timestamp? {
        guard let value = self[name]?.integerValue, (0...253_402_300_799_999).contains(value) else { return nil }
        return Timestamp(milliseconds: value)
    }
}

extension [JSONMember] {
    fileprivate mutating func add(_ name: String, _ value: String?) {
        if let value { append(JSONMember(name, .string(value))) }
    }

    fileprivate mutating func add(_ name: String, _ value: Timestamp?) {
        if let value { append(JSONMember(name, .integer(value.milliseconds))) }
    }
}
