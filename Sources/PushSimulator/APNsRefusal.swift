/// A refusal as Apple words it: a status and a reason (Apple, "Handling notification responses from APNs").
struct APNsRefusal: Error, Equatable {
    let status: Int
    let reason: String

    static let badCollapseID = APNsRefusal(status: 400, reason: "BadCollapseId")
    static let badDeviceToken = APNsRefusal(status: 400, reason: "BadDeviceToken")
    static let badExpirationDate = APNsRefusal(status: 400, reason: "BadExpirationDate")
    static let badMessageID = APNsRefusal(status: 400, reason: "BadMessageId")
    static let badPriority = APNsRefusal(status: 400, reason: "BadPriority")
    static let duplicateHeaders = APNsRefusal(status: 400, reason: "DuplicateHeaders")
    static let invalidPushType = APNsRefusal(status: 400, reason: "InvalidPushType")
    static let missingDeviceToken = APNsRefusal(status: 400, reason: "MissingDeviceToken")
    static let missingTopic = APNsRefusal(status: 400, reason: "MissingTopic")
    static let payloadEmpty = APNsRefusal(status: 400, reason: "PayloadEmpty")
    static let topicDisallowed = APNsRefusal(status: 400, reason: "TopicDisallowed")
    static let expiredProviderToken = APNsRefusal(status: 403, reason: "ExpiredProviderToken")
    static let invalidProviderToken = APNsRefusal(status: 403, reason: "InvalidProviderToken")
    static let missingProviderToken = APNsRefusal(status: 403, reason: "MissingProviderToken")
    static let unrelatedKeyID = APNsRefusal(status: 403, reason: "UnrelatedKeyIdInToken")
    static let badPath = APNsRefusal(status: 404, reason: "BadPath")
    static let methodNotAllowed = APNsRefusal(status: 405, reason: "MethodNotAllowed")
    static let payloadTooLarge = APNsRefusal(status: 413, reason: "PayloadTooLarge")
    static let tooManyTokenUpdates = APNsRefusal(status: 429, reason: "TooManyProviderTokenUpdates")
}
