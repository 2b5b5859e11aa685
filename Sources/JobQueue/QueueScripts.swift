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
    static let addRelated = script("add-related")
    static let children = script("children")
    static let retry = script("retry")
    static let retryMany = script("retry-many")
    static let promote = script("promote")
    static let changePriority = script("change-priority")
    static let update = script("update")
    static let limits = script("limits")
    static let drain = script("drain")
    static let clean = script("clean")
    static let obliterate = script("obliterate")
    static let page = script("page")
    static let sweep = script("sweep")
    static let recheck = script("recheck")
    static let schedulerUpsert = script("scheduler-upsert")
    static let schedulerRemove = script("scheduler-remove")
    static let scheduleNext = script("schedule-next")
    static let strays = script("strays")
    static let takeBack = script("take-back")

    private static func script(_ name: String) -> RedisScript {
        guard let found = EmbeddedText.lua.first(where: { $0.name == name }) else {
            preconditionFailure("Lua/\(name).lua is not part of the build")
        }
        return RedisScript(name: name, text: found.text)
    }
}
