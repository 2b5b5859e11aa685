import Kernel
import NotificationBus
import Signing
import Testing

struct JobVoucherTests {
    private let voucher = JobVoucher { HMAC.sha256($0, key: Array("key".utf8)) }
    private let data = #"{"userId":"u","category":"campaign","body":"Hello \u00e6 \"there\""}"#

    @Test func `vouched data is the same object with one member more (P10)`() throws {
        let vouched = voucher.vouch(for: data)
        var members = try JSONValue(parsing: vouched).members ?? []
        let last = members.popLast()
        #expect(last?.name == "voucher")
        #expect(last?.value.stringValue?.utf8.count == 22)
        #expect(JSONValue.object(members) == (try JSONValue(parsing: data)))
        #expect(voucher.isVouched(vouched))
    }

    @Test func `nobody without the key can vouch (P10)`() {
        let other = JobVoucher { HMAC.sha256($0, key: Array("other".utf8)) }
        #expect(!voucher.isVouched(other.vouch(for: data)))
        let empty = #","voucher":"AAAAAAAAAAAAAAAAAAAAAA"}"#
        for forged in [data, "", "{}", "}", String(data.dropLast()) + empty, empty] {
            #expect(!voucher.isVouched(forged), "\(forged)")
        }
    }

    @Test func `whatever is changed in vouched data costs the voucher (P10)`() {
        let vouched = Array(voucher.vouch(for: data).utf8)
        for index in vouched.indices {
            var changed = vouched
            changed[index] ^= 1
            #expect(!voucher.isVouched(String(decoding: changed, as: UTF8.self)), "byte \(index)")
        }
        // A voucher does not stand for another one's data, nor within it.
        let twice = voucher.vouch(for: voucher.vouch(for: data))
        #expect(voucher.isVouched(twice))
        #expect(!voucher.isVouched(twice + " "))
    }
}
