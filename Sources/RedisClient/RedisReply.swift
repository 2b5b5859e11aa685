/// One answer of Redis.
package enum RedisReply: Sendable, Equatable {
    case null
    case integer(Int64)
    /// A short text such as `OK`.
    case status(String)
    case bulk([UInt8])
    case array([RedisReply])
    case error(String)

    /// The text of a status or bulk answer. Bytes that are no UTF-8 become replacement characters.
    package var string: String? {
        switch self {
        case .status(let text): text
        case .bulk(let bytes): String(decoding: bytes, as: UTF8.self)
        default: nil
        }
    }

    /// The number of an integer answer, or of a text that spells one.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .bulk, .status: string.flatMap { Int64($0) }
        default: nil
        }
    }

    package var int: Int? { integer.map { Int($0) } }

    package var array: [RedisReply]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    package var isNull: Bool { self == .null }

    /// The same answer, or the error that Redis sent.
    package func checked() throws(RedisError) -> RedisReply {
        if case .error(let message) = self { throw RedisError(.server, message, wasSent: true) }
        return self
    }

    /// The text, or an `unexpectedReply` naming what was asked for.
    package func requireString(_ what: StaticString) throws(RedisError) -> String {
        guard let string else { throw unexpected(what) }
        return string
    }

    /// The number, or an `unexpectedReply` naming what was asked for.
    package func requireInt(_ what: StaticString) throws(RedisError) -> Int {
        guard let int else { throw unexpected(what) }
        return int
    }

    /// The elements, or an `unexpectedReply` naming what was asked for.
    package func requireArray(_ what: StaticString) throws(RedisError) -> [RedisReply] {
        guard let array else { throw unexpected(what) }
        return array
    }

    /// The pairs of a hash that came as a flat list, as HGETALL gives it.
    package func requireFields(_ what: StaticString) throws(RedisError) -> [String: String] {
        let elements = try requireArray(what)
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: elements.count - 1, by: 2) {
            fields[try elements[index].requireString(what)] = try elements[index + 1].requireString(what)
        }
        return fields
    }

    private func unexpected(_ what: StaticString) -> RedisError {
        let kind =
            switch self {
            case .null: "nothing"
            case .integer: "an integer"
            case .status, .bulk: "a text"
            case .array(let elements): "a list of \(elements.count)"
            case .error(let message): "the error \(message)"
            }
        return RedisError(.unexpectedReply, "\(what): the answer was \(kind)", wasSent: true)
    }
}
