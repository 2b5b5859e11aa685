import COpenSSL

/// Unpredictable bytes.
package enum SecureRandom {
    /// `count` bytes of OpenSSL's random generator, which the kernel seeds.
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        var output = [UInt8](repeating: 0, count: count)
        let result = RAND_bytes(&output, Int32(count))
        // Going on with predictable bytes would be worse than stopping.
        precondition(result == 1, "OpenSSL's random generator failed")
        return output
    }
}
