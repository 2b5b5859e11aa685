import Kernel
import NotificationContract
package import Notifications

/// Builds the JSON of an alert push, never longer than Apple allows.
package enum PushPayload {
    /// Apple's limit for every push but VoIP, in bytes as sent.
    package static let limit = 4096

    /// Why no payload could be made.
    package struct TooLong: Error, Equatable, CustomStringConvertible {
        package let bytes: Int
        package var description: String {
            "the push needs \(bytes) bytes without its text; \(PushPayload.limit) are allowed"
        }
    }

    /// The payload. `badge` is the number on the app's icon, `nil` to leave that alone. When it would be too long, the body is cut between two characters and ends in an ellipsis; ids and links
    /// are never cut.
    /// - Throws: `TooLong` when even an empty body does not fit.
    package static func alert(
        text: PushText,
        category: Category,
        messageID: MessageID,
        deeplinkURL: String,
        entityID: String?,
        badge: Int? = nil
    ) throws(TooLong) -> [UInt8] {
        func encode(_ body: String) -> [UInt8] {
            var writer = JSONWriter(capacity: 512)
            writer.object { writer in
                writer.name("aps")
                writer.object { writer in
                    writer.name("alert")
                    writer.object { writer in
                        writer.member("title", text.title)
                        writer.member("body", body)
                    }
                    if let badge { writer.member("badge", badge) }
                    writer.member("category", category.id.rawValue)
                    writer.member("interruption-level", category.presentation.interruptionLevel.rawValue)
                    writer.member("sound", optional: category.presentation.sound)
                    writer.member("thread-id", category.id.rawValue)
                }
                writer.member(PushPayloadKey.source, PushPayloadKey.sourceValue)
                writer.member(PushPayloadKey.messageID, messageID.description)
                writer.member(PushPayloadKey.deeplinkURL, deeplinkURL)
                writer.member(PushPayloadKey.entityID, optional: entityID.flatMap(publicEntityID))
            }
            return writer.bytes
        }
        let whole = encode(text.body)
        if whole.count <= limit { return whole }
        let frame = encode("…").count
        guard frame <= limit else { throw TooLong(bytes: frame) }
        // Escapes may lengthen a character, so the fitting prefix is searched for, not computed.
        let characters = Array(text.body)
        var fitting = 0
        var tooLong = characters.count
        while tooLong - fitting > 1 {
            let middle = (fitting + tooLong) / 2
            if encode(String(characters[..<middle]) + "…").count <= limit { fitting = middle } else { tooLong = middle }
        }
        return encode(String(characters[..<fitting]) + "…")
    }

    /// The entity id as an action's link may carry it, `nil` for ids with other characters.
    private static func publicEntityID(_ id: String) -> String? {
        let allowed = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return allowed && id.utf8.count <= 64 ? id : nil
    }
}
