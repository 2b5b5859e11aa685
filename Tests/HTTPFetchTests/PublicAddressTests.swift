import Glibc
import Testing

@testable import HTTPFetch

struct PublicAddressTests {
    @Test(arguments: [
        ("8.8.8.8", true), ("17.253.144.10", true), ("100.128.0.1", true), ("172.32.0.1", true), ("0.0.0.0", false),
        ("10.1.2.3", false), ("100.64.0.1", false), ("100.127.255.255", false), ("127.0.0.1", false),
        ("169.254.169.254", false), ("172.16.0.1", false), ("172.31.255.255", false), ("192.168.1.1", false),
        ("192.0.2.1", false), ("198.18.0.1", false), ("198.19.255.255", false), ("203.0.113.9", false),
        ("224.0.0.1", false), ("255.255.255.255", false),
        ("2a00:1450:4001::1", true), ("2606:4700::1111", true), ("::1", false), ("::", false), ("fe80::1", false),
        ("fc00::1", false), ("fd12:3456::1", false), ("ff02::1", false), ("2001:db8::1", false), ("2001::1", false),
        ("::ffff:10.0.0.1", false), ("::ffff:8.8.8.8", true), ("64:ff9b::7f00:1", false), ("64:ff9b::808:808", true),
        ("2002:7f00:1::1", false), ("2002:808:808::1", true), ("fec0::1", false),
    ])
    func `only addresses of the public internet count as such`(_ text: String, _ expected: Bool) throws {
        var six = in6_addr()
        if inet_pton(AF_INET6, text, &six) == 1 {
            #expect(PublicAddress.isPublic(ipv6: withUnsafeBytes(of: six) { Array($0) }) == expected)
            return
        }
        var four = in_addr()
        #expect(inet_pton(AF_INET, text, &four) == 1)
        #expect(PublicAddress.isPublic(ipv4: UInt32(bigEndian: four.s_addr)) == expected)
    }

    @Test(arguments: [
        ("http://127.0.0.1/", true), ("http://127.9.9.9:80/x", true), ("http://[::1]:8/", true),
        ("http://localhost", true),
        ("http://LOCALHOST?x", true), ("http://127.0.0.1.example/", false), ("http://128.0.0.1/", false),
        ("http://localhost.example/", false), ("http://[::2]/", false), ("http://127.1/", false),
    ])
    func `the loopback is known by how it is written`(_ url: String, _ expected: Bool) throws {
        #expect(try #require(FetchURL(url)).isLoopback == expected)
    }
}
