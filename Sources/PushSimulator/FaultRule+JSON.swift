package import Kernel

/// Why a fault that came over the control interface makes no sense.
package struct FaultRuleError: Error, Equatable, CustomStringConvertible {
    package let description: String
}

extension FaultRule {
    private static let names: Set<String> = [
        "action", "status", "reason", "timestamp", "retryAfter", "errorCode", "lastStreamId", "token", "tokenPrefix",
        "count",
        "fraction", "delayMs", "accepted", "streams",
    ]

    /// Reads a rule as the control interface takes it; unknown members are refused, so that a typing error does not make a
    /// fault that strikes everything.
    package init(json: JSONValue) throws(FaultRuleError) {
        guard let members = json.members else { throw FaultRuleError(description: "a fault is an object") }
        if let stranger = members.first(where: { !Self.names.contains($0.name) }) {
            throw FaultRuleError(description: "unknown member \"\(stranger.name.prefix(40))\"")
        }
        let action = try Self.action(json)
        var fraction: Double?
        if let value = json["fraction"] {
            guard case .number(let number) = value, let share = number.double, (0...1).contains(share) else {
                throw FaultRuleError(description: "\"fraction\" is a number from 0 to 1")
            }
            fraction = share
        }
        self.init(
            action,
            token: try Self.text("token", json),
            tokenPrefix: try Self.text("tokenPrefix", json),
            remaining: try Self.integer("count", 1...1_000_000_000, json).map { Int($0) },
            fraction: fraction,
            delay: .milliseconds(try Self.integer("delayMs", 0...600_000, json) ?? 0),
            countsAsAccepted: try Self.flag("accepted", json) ?? true,
            streamLimit: try Self.integer("streams", 0...1_000_000, json).map { Int($0) }
        )
    }

    private static func action(_ json: JSONValue) throws(FaultRuleError) -> Action {
        let reason = try text("reason", json)
        let status = try integer("status", 200...599, json)
        switch try text("action", json) ?? (status == nil ? "accept" : "refuse") {
        case "accept": return .accept
        case "refuse":
            guard let status, status != 200, let reason else {
                throw FaultRuleError(description: "\"refuse\" needs \"status\" (not 200) and \"reason\"")
            }
            return .refuse(
                status: Int(status),
                reason: reason,
                timestamp: try integer("timestamp", 0...Int64.max, json),
                retryAfter: try integer("retryAfter", 0...86_400, json).map { Int($0) }
            )
        case "hang": return .hang
        case "drop": return .drop
        case "reset": return .reset(errorCode: try errorCode(json) ?? 7)
        case "goaway":
            return .goAway(
                lastStreamID: try integer("lastStreamId", 0...Int64(Int32.max), json).map { Int32($0) },
                errorCode: try errorCode(json) ?? 0,
                reason: reason
            )
        default:
            throw FaultRuleError(description: "\"action\" is accept, refuse, hang, drop, reset or goaway")
        }
    }

    private static func errorCode(_ json: JSONValue) throws(FaultRuleError) -> UInt32? {
        try integer("errorCode", 0...Int64(UInt32.max), json).map { UInt32($0) }
    }

    private static func text(_ name: String, _ json: JSONValue) throws(FaultRuleError) -> String? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let text = value.stringValue, (1...256).contains(text.utf8.count) else {
            throw FaultRuleError(description: "\"\(name)\" is a string of 1 to 256 bytes")
        }
        return text
    }

    private static func flag(_ name: String, _ json: JSONValue) throws(FaultRuleError) -> Bool? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let flag = value.boolValue else { throw FaultRuleError(description: "\"\(name)\" is true or false") }
        return flag
    }

    private static func integer(
        _ name: String,
        _ range: ClosedRange<Int64>,
        _ json: JSONValue
    ) throws(FaultRuleError) -> Int64? {
        guard let value = json[name], !value.isNull else { return nil }
        guard let number = value.integerValue, range.contains(number) else {
            throw FaultRuleError(
                description: "\"\(name)\" is a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}
