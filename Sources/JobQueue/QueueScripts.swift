import RedisClient

/// The scripts of the folder Lua.
enum QueueScripts {
    static let add = script("add")
    static let claim = script("claim")
    static let extend = script("extend")
    static let finish = script("finish")
    static let move = script("move")
    static let stalled = script("stalled")
    static let pause = script("pause")
    static let counts = script("counts")
    static let job = script("job")
    static let remove = script("remove")
    static let changeDelay = script("change-delay")
    static let oldest = script("oldest")

    private static func script(_ name: String) -> RedisScript {
        guard let found = EmbeddedText.lua.first(where: { $0.name == name }) else {
            preconditionFailure("Lua/\(name).lua is not part of the build")
        }
        return RedisScript(name: name, text: found.text)
    }
}
