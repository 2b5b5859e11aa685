package import Kernel

// A generic function that another module calls runs unspecialised: every element goes through witness tables. In the hot
// statements, which bind arrays of hundreds of values, that was a quarter of a delivery worker's processor time (measured with
// perf). These overloads say the same for the element types of those arrays, and the compiler specialises what they call.
extension SQL.StringInterpolation {
    package mutating func appendInterpolation(_ values: [String]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [String?]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [Int]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [Int?]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [Bool]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [UUIDBits]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [Timestamp]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [Timestamp?]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [JSONValue?]) { bindArray(values) }
    package mutating func appendInterpolation(_ values: [JSONText]) { bindArray(values) }

    private mutating func bindArray<Element: PostgresBindable>(_ elements: [Element]) {
        placeholder([Element].postgresType)
        values.bind { writer in
            writer.array(of: elements)
            return true
        }
    }
}
