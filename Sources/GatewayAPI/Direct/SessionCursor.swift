import Kernel

/// Where a page of sessions ended. It travels as an opaque text.
package struct SessionCursor: Sendable, Equatable {
    /// Longer texts are no cursor of ours, in bytes.
    static let textLimit = 1024

    package let user: String
    package let device: String

    package init(user: String, device: String) {
        self.user = user
        self.device = device
    }

    /// - Returns: `nil` for a text that is no cursor.
    init?(_ text: String) {
        guard text.utf8.count <= Self.textLimit, let bytes = Base64URL.decode(Array(text.utf8)),
            let value = try? JSONValue(parsing: bytes), let parts = value.arrayValue, parts.count == 2,
            let user = parts[0].stringValue, let device = parts[1].stringValue, !user.isEmpty
        else { return nil }
        self.init(user: user, device: device)
    }

    var text: String { Base64URL.encode(JSONValue.array([.string(user), .string(device)]).utf8) }
}
