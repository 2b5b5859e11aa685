import RedisClient

/// The scripts of the folder Lua.
enum LimiterScripts {
    static let take = script("take")
    static let giveBack = script("give-back")
    static let usage = script("usage")

    private static func script(_ name: String) -> RedisScript {
        guard let found = EmbeddedText.lua.first(where: { $0.name == name }) else {
            preconditionFailure("Lua/\(name).lua is not part of the build")
        }
        return RedisScript(name: name, text: found.text)
    }
}
