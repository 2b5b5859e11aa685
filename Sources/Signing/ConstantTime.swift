/// Comparison of secrets.
package enum ConstantTime {
    /// Whether both hold the same bytes, in a time that depends only on their lengths. Different lengths are unequal at
    /// once: the length of a token or digest is no secret.
    package static func equal(_ lhs: some Collection<UInt8>, _ rhs: some Collection<UInt8>) -> Bool {
        guard lhs.count == rhs.count else { return false }
        var difference: UInt8 = 0
        for (left, right) in zip(lhs, rhs) { difference |= left ^ right }
        return difference == 0
    }
}
