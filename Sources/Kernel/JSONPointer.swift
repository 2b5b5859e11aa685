/// JSON pointers (RFC 6901).
package enum JSONPointer {
    /// A member's name as one token of a pointer: `~` becomes `~0` and `/` becomes `~1`.
    package static func token(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        return name.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
