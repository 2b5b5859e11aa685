import CMicrohttpd
import Glibc

/// An IPv4 or IPv6 address as 16 bytes; IPv4 is kept in its mapped form (`::ffff:a.b.c.d`), so that both compare.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    let bytes: [UInt8]

    var isIPv4: Bool { bytes[..<12].elementsEqual(Self.mappedPrefix) }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [255, 255]

    /// `::`, no client's address.
    package static let unspecified = IPAddress(mapped: [UInt8](repeating: 0, count: 16))

    init(mapped bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(ipv4 bytes: [UInt8]) {
        self.bytes = Self.mappedPrefix + bytes
    }

    /// Reads a numeric address; never asks a resolver.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(ipv4: withUnsafeBytes(of: four) { Array($0) })
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self.init(mapped: withUnsafeBytes(of: six) { Array($0) })
    }

    /// The address of a socket's peer, `nil` for other families.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                IPAddress(ipv4: withUnsafeBytes(of: pointer.pointee.sin_addr) { Array($0) })
            }
        case AF_INET6:
            self = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                IPAddress(mapped: withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) })
            }
        default: return nil
        }
    }

    /// What tells one client from another: an IPv4 address, or the /64 of an IPv6 address, of which a single customer has at least one
    /// whole and any number of addresses within it.
    package var network: IPAddress {
        isIPv4 ? self : IPAddress(mapped: bytes[..<8] + [UInt8](repeating: 0, count: 8))
    }

    package var description: String {
        if isIPv4 { return bytes[12...].map(String.init).joined(separator: ".") }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "::" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address alone.
package struct AddressBlock: Sendable, Equatable {
    private let address: IPAddress
    /// Leading bits that must agree, counted over the 16-byte form.
    private let prefix: Int

    /// - Returns: `nil` when the text is no address or the prefix length is out of range.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        self.address = address
        guard parts.count == 2 else {
            prefix = 128
            return
        }
        guard let length = Int(parts[1]), (0...(address.isIPv4 ? 32 : 128)).contains(length) else { return nil }
        prefix = address.isIPv4 ? length + 96 : length
    }

    package func contains(_ other: IPAddress) -> Bool {
        let whole = prefix / 8
        guard address.bytes[..<whole].elementsEqual(other.bytes[..<whole]) else { return false }
        let rest = prefix % 8
        return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> UInt8(8 - rest) == 0
    }
}

/// Finds the client behind proxies: only addresses in `trusted` are believed, from the nearest hop outwards.
package struct TrustedProxies: Sendable {
    private let trusted: [AddressBlock]

    package init(_ trusted: [AddressBlock] = []) {
        self.trusted = trusted
    }

    /// The rightmost hop that is not a trusted proxy: what stands to its left could have been written by anybody.
    /// - Parameters:
    ///   - peer: the other end of the connection.
    ///   - forwardedFor: the `X-Forwarded-For` field values in order.
    func client(peer: IPAddress, forwardedFor: [String]) -> IPAddress {
        var client = peer
        let hops = forwardedFor.flatMap { $0.split(separator: ",") }.reversed()
        for hop in hops {
            guard trusted.contains(where: { $0.contains(client) }) else { return client }
            guard let next = IPAddress(hop.filter { $0 != " " && $0 != "\t" }) else { return client }
            client = next
        }
        return client
    }
}
