package import Kernel

/// A push that was accepted, as it came.
package struct RecordedPush: Sendable {
    package let receivedAt: Timestamp
    package let deviceToken: String
    package let apnsID: UUIDBits
    package let topic: String
    package let pushType: String
    package let priority: Int
    package let expiration: Int64?
    package let collapseID: String?
    package let body: [UInt8]
    package let connectionID: Int

    init(_ push: ValidPush, body: [UInt8], connectionID: Int, receivedAt: Timestamp) {
        self.receivedAt = receivedAt
        deviceToken = push.deviceToken
        apnsID = push.apnsID
        topic = push.topic
        pushType = push.pushType
        priority = push.priority
        expiration = push.expiration
        collapseID = push.collapseID
        self.body = body
        self.connectionID = connectionID
    }

    func write(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("receivedAt", receivedAt.rfc3339)
            writer.member("token", deviceToken)
            writer.member("apnsId", apnsID.description)
            writer.member("topic", topic)
            writer.member("pushType", pushType)
            writer.member("priority", priority)
            if let expiration { writer.member("expiration", expiration) }
            writer.member("collapseId", optional: collapseID)
            writer.member("connection", connectionID)
            writer.name("payload")
            if let value = try? JSONValue(parsing: body) {
                writer.value(value)
            } else {
                // A body that is no JSON is still shown, as text.
                writer.string(String(decoding: body, as: UTF8.self))
            }
        }
    }
}
