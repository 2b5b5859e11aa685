import CLibpq
package import Kernel

/// The result of a statement. Owns libpq's result and frees it.
package final class PostgresRows: @unchecked Sendable, RandomAccessCollection {
    // Unchecked, because libpq's result is never changed after it was received and reading it is thread-safe.
    private let result: OpaquePointer
    private let columns: [String: Int32]

    /// Takes ownership of the result.
    init(owning result: OpaquePointer) {
        self.result = result
        var columns: [String: Int32] = [:]
        for column in 0..<PQnfields(result) {
            guard let name = PQfname(result, column) else { continue }
            columns[String(cString: name)] = column
        }
        self.columns = columns
    }

    deinit {
        PQclear(result)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { Int(PQntuples(result)) }
    package subscript(position: Int) -> PostgresRow { PostgresRow(rows: self, index: position) }

    /// How many rows the statement changed.
    package var affected: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    fileprivate func column(_ name: String) -> Int32? { columns[name] }

    fileprivate func bytes(_ row: Int, _ column: Int32) -> UnsafeBufferPointer<UInt8>? {
        guard PQgetisnull(result, Int32(row), column) == 0, let start = PQgetvalue(result, Int32(row), column) else {
            return nil
        }
        let length = Int(PQgetlength(result, Int32(row), column))
        return UnsafeRawPointer(start).withMemoryRebound(to: UInt8.self, capacity: length) {
            UnsafeBufferPointer(start: $0, count: length)
        }
    }
}

/// One row. Values are read by column name, in the type that the caller expects.
package struct PostgresRow: Sendable {
    fileprivate let rows: PostgresRows
    fileprivate let index: Int

    /// The text of a column, `nil` for NULL.
    /// - Throws: `PostgresError` with code `decoding` when there is no such column.
    package func optionalString(_ name: String) throws(PostgresError) -> String? {
        try converted(name, "text") { String(decoding: $0, as: UTF8.self) }
    }

    package func string(_ name: String) throws(PostgresError) -> String {
        try required(optionalString(name), name)
    }

    package func optionalInt64(_ name: String) throws(PostgresError) -> Int64? {
        try converted(name, "a whole number") { FieldText.int64($0) }
    }

    package func int64(_ name: String) throws(PostgresError) -> Int64 {
        try required(optionalInt64(name), name)
    }

    package func int(_ name: String) throws(PostgresError) -> Int {
        Int(try int64(name))
    }

    package func optionalBool(_ name: String) throws(PostgresError) -> Bool? {
        try converted(name, "a boolean") { FieldText.bool($0) }
    }

    package func bool(_ name: String) throws(PostgresError) -> Bool {
        try required(optionalBool(name), name)
    }

    package func optionalUUID(_ name: String) throws(PostgresError) -> UUIDBits? {
        try converted(name, "a UUID") { FieldText.uuid($0) }
    }

    package func uuid(_ name: String) throws(PostgresError) -> UUIDBits {
        try required(optionalUUID(name), name)
    }

    /// A `timestamptz`, cut to whole milliseconds. `infinity` is refused.
    package func optionalTimestamp(_ name: String) throws(PostgresError) -> Timestamp? {
        try converted(name, "a time") { FieldText.timestamp($0) }
    }

    package func timestamp(_ name: String) throws(PostgresError) -> Timestamp {
        try required(optionalTimestamp(name), name)
    }

    package func optionalJSON(_ name: String) throws(PostgresError) -> JSONValue? {
        try converted(name, "JSON") { try? JSONValue(parsing: $0) }
    }

    package func json(_ name: String) throws(PostgresError) -> JSONValue {
        try required(optionalJSON(name), name)
    }

    private func required<Value>(_ value: Value?, _ name: String) throws(PostgresError) -> Value {
        guard let value else { throw PostgresError(.decoding, message: "column \(name) is NULL") }
        return value
    }

    private func converted<Value>(
        _ name: String,
        _ kind: String,
        _ convert: (UnsafeBufferPointer<UInt8>) -> Value?
    ) throws(PostgresError) -> Value? {
        guard let column = rows.column(name) else {
            throw PostgresError(.decoding, message: "there is no column \(name)")
        }
        guard let bytes = rows.bytes(index, column) else { return nil }
        guard let value = convert(bytes) else {
            throw PostgresError(.decoding, message: "column \(name) is not \(kind)")
        }
        return value
    }
}
