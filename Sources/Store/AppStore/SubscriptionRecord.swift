package import Kernel
import PostgresClient

/// A subscription as it is known. Dates of signing tell how fresh each part is.
package struct SubscriptionRecord: Sendable, Equatable {
    /// `production` or `sandbox`.
    package let environment: String
    package let originalTransactionID: String
    package var user: String?
    package var appAccountToken: UUIDBits?
    package var productID: String?
    package var nextProductID: String?
    package var subscriptionGroup: String?
    package var isFamilyShared = false
    /// 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
    package var status: Int?
    package var autoRenews: Bool?
    package var expiresAt: Timestamp?
    package var graceExpiresAt: Timestamp?
    package var commitmentExpiresAt: Timestamp?
    package var revokedAt: Timestamp?
    package var transactionSignedAt: Timestamp?
    package var renewalSignedAt: Timestamp?
    package var eventSignedAt: Timestamp?
    /// Event → end of the period, in milliseconds, for which it was said.
    package var announced: [String: Int64] = [:]

    package init(environment: String, originalTransactionID: String) {
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }

    static let columns = """
        environment, original_transaction_id, user_id, app_account_token, product_id, next_product_id, subscription_group,
        is_family_shared, status, auto_renews, expires_at, grace_expires_at, commitment_expires_at, revoked_at,
        transaction_signed_at, renewal_signed_at, event_signed_at, announced
        """

    init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            environment: try row.string("environment"),
            originalTransactionID: try row.string("original_transaction_id")
        )
        user = try row.optionalString("user_id")
        appAccountToken = try row.optionalUUID("app_account_token")
        productID = try row.optionalString("product_id")
        nextProductID = try row.optionalString("next_product_id")
        subscriptionGroup = try row.optionalString("subscription_group")
        isFamilyShared = try row.bool("is_family_shared")
        status = try row.optionalInt64("status").map(Int.init)
        autoRenews = try row.optionalBool("auto_renews")
        expiresAt = try row.optionalTimestamp("expires_at")
        graceExpiresAt = try row.optionalTimestamp("grace_expires_at")
        commitmentExpiresAt = try row.optionalTimestamp("commitment_expires_at")
        revokedAt = try row.optionalTimestamp("revoked_at")
        transactionSignedAt = try row.optionalTimestamp("transaction_signed_at")
        renewalSignedAt = try row.optionalTimestamp("renewal_signed_at")
        eventSignedAt = try row.optionalTimestamp("event_signed_at")
        for member in try row.json("announced").members ?? [] {
            announced[member.name] = member.value.integerValue
        }
    }

    var announcedJSON: JSONValue {
        .object(announced.sorted { $0.key < $1.key }.map { JSONMember($0.key, .integer($0.value)) })
    }
}
