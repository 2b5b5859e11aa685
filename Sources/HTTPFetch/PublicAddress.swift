import CCurl
import Glibc

/// Tells addresses of the public internet from all others (IANA's special-purpose registries).
enum PublicAddress {
    /// Blocks of IPv4 that are private, local, reserved or for many: address and leading bits.
    private static let closedIPv4: [(UInt32, UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16),
        (0xAC10_0000, 12), (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16),
        (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]

    /// Whether a socket address lies on the public internet; `false` for every family but IP.
    static func isPublic(_ address: UnsafePointer<sockaddr>) -> Bool {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                isPublic(ipv4: UInt32(bigEndian: pointer.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                isPublic(ipv6: withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) })
            }
        default: false
        }
    }

    static func isPublic(ipv4 address: UInt32) -> Bool {
        !closedIPv4.contains { block, bits in address >> (32 - bits) == block >> (32 - bits) }
    }

    /// - Parameter bytes: 16 of them.
    static func isPublic(ipv6 bytes: [UInt8]) -> Bool {
        func ipv4(at index: Int) -> UInt32 {
            bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        // An IPv4 address in IPv6's clothes counts as what it is: mapped, NAT64, 6to4.
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return isPublic(ipv4: ipv4(at: 12)) }
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return isPublic(ipv4: ipv4(at: 12)) }
        if bytes.starts(with: [0x20, 0x02]) { return isPublic(ipv4: ipv4(at: 2)) }
        // Documentation and Teredo lie within what is given out today, 2000::/3; nothing else outside of it is public.
        if bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8]) || bytes.starts(with: [0x20, 0x01, 0, 0]) { return false }
        return bytes[0] & 0xE0 == 0x20
    }
}
