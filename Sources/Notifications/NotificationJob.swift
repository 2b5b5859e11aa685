package import Kernel
package import NotificationContract

/// What a notification says: a key of the catalog with variables, or the words themselves.
package enum NotificationText: Sendable, Equatable {
    /// Rendered at delivery, in the user's language.
    case catalog(key: String, variables: CatalogVariables)
    /// Words that an operator, or a producer the operator trusts, wrote.
    case literal(body: OperatorText)
}

/// The data of a job on the queue `notification-deliver`: the arguments of `enqueueNotification`.
package struct NotificationJob: Sendable, Equatable {
    package var userID: UserID
    package var category: CategoryID
    package var text: NotificationText
    package var title: OperatorText?
    package var deeplinkURL: String?
    /// A JSON object that travels to the inbox and never into a push.
    package var metadata: JSONValue?
    /// What the notification is about; the handle by which it can be called back.
    package var sourceEntityID: String?
    /// A BCP 47 tag that overrides the user's language.
    package var languageCode: String?
    /// The campaign run it belongs to.
    package var batchReference: String?
    /// A campaign's test send: past the switch and the caps, and not for the inbox. Only trusted producers can say so.
    package var isTest: Bool

    package init(
        userID: UserID,
        category: CategoryID,
        text: NotificationText,
        title: OperatorText? = nil,
        deeplinkURL: String? = nil,
        metadata: JSONValue? = nil,
        sourceEntityID: String? = nil,
        languageCode: String? = nil,
        batchReference: String? = nil,
        isTest: Bool = false
    ) {
        self.userID = userID
        self.category = category
        self.text = text
        self.title = title
        self.deeplinkURL = deeplinkURL
        self.metadata = metadata
        self.sourceEntityID = sourceEntityID
        self.languageCode = languageCode
        self.batchReference = batchReference
        self.isTest = isTest
    }
}

extension NotificationJob {
    /// The job's data as compact JSON text.
    package var json: String {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.member("userId", userID.rawValue)
            writer.member("category", category.rawValue)
            switch text {
            case .literal(let body):
                writer.member("body", body.words)
            case .catalog(let key, let variables):
                writer.name("text")
                writer.object { writer in
                    writer.member("key", key)
                    writer.name("variables")
                    writer.object { writer in
                        for (name, value) in variables.strings.sorted(by: { $0.key < $1.key }) {
                            writer.member(name, value)
                        }
                    }
                }
            }
            writer.member("title", optional: title?.words)
            writer.member("deeplinkUrl", optional: deeplinkURL)
            if let metadata {
                writer.name("metadata")
                writer.value(metadata)
            }
            writer.member("sourceEntityId", optional: sourceEntityID)
            writer.member("languageCode", optional: languageCode)
            writer.member("batchRef", optional: batchReference)
            if isTest { writer.member("test", true) }
        }
        return writer.text
    }
}
