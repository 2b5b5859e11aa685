import Kernel

/// Tells jobs of this platform's own producers from those that somebody else wrote into Redis.
///
/// A job with words of its own carries a voucher: a code over its data that only holders of the database's key can make. So a foreign
/// job cannot pass for one of ours, and what was changed on the queue loses its voucher. The voucher is bound to the user and the words,
/// not to the job's id, which changes when a notification is moved: whoever can write into Redis could have the same words sent to
/// the same user once more, and nothing else.
package struct JobVoucher: Sendable {
    private static let opening = #","voucher":""#
    private static let closing = #""}"#
    /// Of the code, cut from 32: 128 bits are beyond guessing.
    private static let bytes = 16
    private static let digits = 22

    private let authenticate: @Sendable ([UInt8]) -> [UInt8]

    /// - Parameter authenticate: HMAC-SHA-256 under the database's key.
    package init(authenticate: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        self.authenticate = authenticate
    }

    /// The data with its voucher as the last member.
    /// - Parameter data: a JSON object with at least one member.
    package func vouch(for data: String) -> String {
        String(data.dropLast()) + Self.opening + code(of: Array(data.utf8)) + Self.closing
    }

    /// Whether the data carries the voucher that belongs to it.
    package func isVouched(_ data: String) -> Bool {
        let bytes = Array(data.utf8)
        let tail = Self.opening.utf8.count + Self.digits + Self.closing.utf8.count
        guard bytes.count > tail else { return false }
        let opening = bytes.count - tail
        let code = opening + Self.opening.utf8.count
        guard bytes[opening..<code].elementsEqual(Self.opening.utf8),
            bytes[(code + Self.digits)...].elementsEqual(Self.closing.utf8)
        else { return false }
        let expected = Array(self.code(of: bytes[..<opening] + [UInt8(ascii: "}")]).utf8)
        // All of them, so that the time tells nothing of where they differ.
        return zip(expected, bytes[code...]).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private func code(of data: some Sequence<UInt8>) -> String {
        Base64URL.encode(Array(authenticate(Array(data)).prefix(Self.bytes)))
    }
}
