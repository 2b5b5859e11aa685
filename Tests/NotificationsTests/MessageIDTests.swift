import Kernel
import Notifications
import Testing

struct MessageIDTests {
    private let instant = Timestamp(milliseconds: 1_796_117_400_250)

    @Test func `an id has the shape of a UUIDv7 and names its instant`() {
        let id = MessageID(at: instant, entropy: [UInt8](repeating: 0xFF, count: 10))
        #expect(id.bits.version == 7)
        #expect(id.bits.variant == 2)
        #expect(id.instant == instant)
        #expect(MessageID(id.description) == id)
    }

    @Test func `equal sources give equal ids, and every bit of the digest counts`() {
        let digest = (0..<10).map { UInt8($0) }
        #expect(MessageID(at: instant, entropy: digest) == MessageID(at: instant, entropy: digest))
        var other = digest
        other[9] ^= 1
        #expect(MessageID(at: instant, entropy: other) != MessageID(at: instant, entropy: digest))
        other = digest
        other[0] ^= 1
        #expect(MessageID(at: instant, entropy: other) != MessageID(at: instant, entropy: digest))
    }

    @Test(arguments: [
        "01A22EE6-B000-7ABC-8DEF-0123456789AB", "01a22ee6-b000-4abc-8def-0123456789ab", "42", "",
        "01a22ee6-b000-7abc-0def-0123456789ab",
    ])
    func `other ids are no message ids`(text: String) {
        #expect(MessageID(text) == nil)
    }

    @Test func `later ids sort later`() {
        let early = MessageID(at: instant, entropy: [UInt8](repeating: 0xFF, count: 10))
        let late = MessageID(at: instant + .milliseconds(1), entropy: [UInt8](repeating: 0, count: 10))
        #expect(early < late)
        #expect(early.description < late.description)
    }
}
