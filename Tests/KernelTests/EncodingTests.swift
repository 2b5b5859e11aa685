import Kernel
import Testing

struct EncodingTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `base64url follows the vectors of RFC 4648 without padding`(text: String, encoded: String) {
        #expect(Base64URL.encode(Array(text.utf8)) == encoded)
        #expect(Base64URL.decode(Array(encoded.utf8)) == Array(text.utf8))
    }

    @Test(arguments: ["Zg==", "Zh", "Z", "Zm9vY", "+/+/", "Zm 9v", "Zm9v\n"])
    func `other spellings of base64url are refused`(text: String) {
        #expect(Base64URL.decode(Array(text.utf8)) == nil)
    }

    @Test func `hexadecimal is read in either case`() {
        #expect(Hex.decode("00fFaB") == [0x00, 0xFF, 0xAB])
        #expect(Hex.encode([0x00, 0xFF, 0xAB]) == "00ffab")
        #expect(Hex.decode("0") == nil)
        #expect(Hex.decode("0g") == nil)
    }

    @Test func `a UUID survives its text`() throws {
        let text = "01a22ee6-b000-7abc-8def-0123456789ab"
        let bits = try #require(UUIDBits(text))
        #expect(bits.description == text)
        #expect(bits.version == 7)
        #expect(bits.variant == 2)
        #expect(UUIDBits("01a22ee6b0007abc8def0123456789ab") == nil)
    }
}
