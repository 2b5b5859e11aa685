import Kernel
import Testing

@testable import Signing

struct AES256GCMTests {
    private let key = [UInt8](repeating: 7, count: 32)

    @Test func `what was sealed is opened, and each seal is another`() throws {
        let first = try AES256GCM.seal([1, 2, 3], key: key, additional: [9])
        #expect(try AES256GCM.open(first, key: key, additional: [9]) == [1, 2, 3])
        #expect(try AES256GCM.seal([1, 2, 3], key: key, additional: [9]) != first)
        let nothing = try AES256GCM.seal([], key: key, additional: [])
        #expect(try AES256GCM.open(nothing, key: key, additional: []) == [])
    }

    /// Test case 16 of McGrew and Viega, "The Galois/Counter Mode of Operation".
    @Test func `a published example opens`() throws {
        let key = try #require(Hex.decode("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let sealed = try #require(
            Hex.decode(
                "cafebabefacedbaddecaf888522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3d"
                    + "a7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"
            )
        )
        let additional = try #require(Hex.decode("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        let plain = try AES256GCM.open(sealed, key: key, additional: additional)
        #expect(Hex.encode(plain).hasPrefix("d9313225f88406e5a55909c5aff5269a"))
        #expect(plain.count == 60)
    }

    @Test func `other bytes, keys and additional data are refused`() throws {
        let sealed = try AES256GCM.seal([1, 2, 3], key: key, additional: [9])
        #expect(throws: SigningError.self) { try AES256GCM.open(sealed, key: key, additional: []) }
        #expect(throws: SigningError.self) { try AES256GCM.open(Array(sealed.dropLast()), key: key, additional: [9]) }
        #expect(throws: SigningError.self) { try AES256GCM.open([], key: key, additional: [9]) }
        #expect(throws: SigningError.self) { try AES256GCM.seal([1], key: [1, 2], additional: []) }
    }

    @Test func `a derived secret is the key's own and the label's`() throws {
        let pair = try ECKey.generateP256()
        let one = try SigningKey(pem: pair.privatePEM, keyID: "A")
        let same = try SigningKey(pem: pair.privatePEM)
        let other = try SigningKey(pem: ECKey.generateP256().privatePEM)
        #expect(one.derivedSecret(label: "x") == same.derivedSecret(label: "x"))
        #expect(one.derivedSecret(label: "x") != one.derivedSecret(label: "y"))
        #expect(one.derivedSecret(label: "x") != other.derivedSecret(label: "x"))
        #expect(one.derivedSecret(label: "x").count == 32)
    }
}
