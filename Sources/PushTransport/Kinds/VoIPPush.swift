package import Kernel
package import Notifications

/// A push that announces a call through PushKit. It goes to the app's PushKit token, never to its APNs token, and may carry
/// 5,120 bytes.
package struct VoIPPush: Sendable {
    /// The whole body: PushKit hands it to the app as it is.
    package var data: [JSONMember]

    package init(data: [JSONMember]) {
        self.data = data
    }

    /// The body as it is sent.
    /// - Throws: `missing` without data, `tooLarge` above 5,120 bytes, `invalid` for a name that stands twice.
    package func payload() throws(PushKindError) -> [UInt8] {
        guard !data.isEmpty else { throw PushKindError(.missing, "a call needs data, such as the caller's") }
        guard Set(data.map(\.name)).count == data.count else {
            throw PushKindError(.invalid, "a name stands twice in the data")
        }
        let body = JSONValue.object(data).utf8
        try PushKindError.checkSize(body, .voip)
        return body
    }

    /// The push for one device. By default Apple tries once and stores nothing: a call that rang out is none any more.
    package func request(
        deviceToken: String,
        environment: PushEnvironment,
        topic: String,
        messageID: UUIDBits,
        expiration: Timestamp = Timestamp(milliseconds: 0)
    ) throws(PushKindError) -> PushRequest {
        var request = PushRequest(
            deviceToken: deviceToken,
            environment: environment,
            topic: topic,
            messageID: messageID,
            payload: try payload(),
            priority: .immediate,
            expiration: expiration,
            pushType: .voip
        )
        // Every call rings for itself.
        request.collapse = .none
        return request
    }
}
