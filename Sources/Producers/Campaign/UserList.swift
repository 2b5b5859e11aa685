package import Notifications

/// A list of users as people export it: one id a line, or CSV whose first column is the id. A first line `userId` or `user_id` is a
/// heading; blank lines are passed over.
package struct UserList: Sendable {
    /// A line that names no user.
    package struct Fault: Sendable, Equatable {
        /// From 1.
        package let line: Int
        package let problem: String
    }

    /// How many faults are told.
    package static let toldFaults = 100

    /// In the order of the list, each once.
    package private(set) var users: [UserID] = []
    package private(set) var faults: [Fault] = []
    /// All of them, the untold included.
    package private(set) var faultCount = 0
    /// Lines that named a user once more.
    package private(set) var repeats = 0
    /// Whether it names more users than it may; reading ended there.
    package private(set) var isTooLong = false

    /// Reads a list in UTF-8, line by line.
    package init(_ bytes: some Collection<UInt8>, limit: Int = .max) {
        var seen: Set<UserID> = []
        var number = 0
        var rest = bytes[...]
        while !rest.isEmpty {
            number += 1
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            rest = rest[line.endIndex...].dropFirst()
            let text = Self.firstField(line, isFirstLine: number == 1)
            if text.isEmpty || number == 1 && ["userid", "user_id"].contains(text.lowercased()) { continue }
            guard let user = UserID(text) else {
                faultCount += 1
                if faults.count < Self.toldFaults {
                    faults.append(Fault(line: number, problem: "is no user id: \(UserID.rule)"))
                }
                continue
            }
            guard seen.insert(user).inserted else {
                repeats += 1
                continue
            }
            guard users.count < limit else {
                isTooLong = true
                return
            }
            users.append(user)
        }
    }

    private static func firstField(_ line: some Collection<UInt8>, isFirstLine: Bool) -> String {
        let separators: Set<UInt8> = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
        var field = Array(line.prefix { !separators.contains($0) })
        // A byte order mark, as spreadsheets write it.
        if isFirstLine, field.starts(with: [0xEF, 0xBB, 0xBF]) { field.removeFirst(3) }
        let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\r")]
        while let last = field.last, blanks.contains(last) { field.removeLast() }
        field = Array(field.drop { blanks.contains($0) })
        if field.count >= 2, field.first == UInt8(ascii: "\""), field.last == UInt8(ascii: "\"") {
            field = Array(field.dropFirst().dropLast())
        }
        return String(decoding: field, as: UTF8.self)
    }
}
