import HTTP2

/// The request headers that APNs reads, each at most once.
struct PushHeaders: Sendable {
    var authorization: String?
    var topic: String?
    var pushType: String?
    var apnsID: String?
    var priority: String?
    var expiration: String?
    var collapseID: String?

    /// - Throws: `DuplicateHeaders` when one of them comes twice.
    init(_ headers: [HTTP2Header]) throws(APNsRefusal) {
        for header in headers {
            switch header.name {
            case "authorization": try Self.set(&authorization, header.value)
            case "apns-topic": try Self.set(&topic, header.value)
            case "apns-push-type": try Self.set(&pushType, header.value)
            case "apns-id": try Self.set(&apnsID, header.value)
            case "apns-priority": try Self.set(&priority, header.value)
            case "apns-expiration": try Self.set(&expiration, header.value)
            case "apns-collapse-id": try Self.set(&collapseID, header.value)
            default: break
            }
        }
    }

    private static func set(_ slot: inout String?, _ value: String) throws(APNsRefusal) {
        guard slot == nil else { throw .duplicateHeaders }
        slot = value
    }
}
