/// A Lua script and the name under which Redis remembers it.
package struct RedisScript: Sendable {
    /// For messages and metrics.
    package let name: String
    package let text: String
    /// The SHA-1 of the text, as EVALSHA wants it.
    let digest: String

    package init(name: String, text: String) {
        self.name = name
        self.text = text
        digest = SHA1.hex(text.utf8)
    }

    /// The call by digest, which Redis answers with NOSCRIPT when it does not know the script.
    func evalsha(keys: [RedisArgument], arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand(["EVALSHA", .string(digest), .integer(Int64(keys.count))] + keys + arguments)
    }

    /// The call with the whole text, which makes Redis remember the script.
    func eval(keys: [RedisArgument], arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand(["EVAL", .string(text), .integer(Int64(keys.count))] + keys + arguments)
    }
}
