/// The names in a push that the phone reads, beside Apple's own `aps`.
public enum PushPayloadKey {
    /// Always `notification`: tells this platform's pushes from others.
    public static let source = "source"
    /// The message's UUID, also `apns-id` and the inbox item's id.
    public static let messageID = "messageId"
    /// Where a tap leads.
    public static let deeplinkURL = "deeplinkUrl"
    /// The thing the push is about, for the `{id}` of an action's link.
    public static let entityID = "entityId"
    /// The category's id, in the data of services whose pushes have no place of their own for it (FCM; Apple has `aps`).
    public static let category = "category"
    /// The value of `source`.
    public static let sourceValue = "notification"
}
