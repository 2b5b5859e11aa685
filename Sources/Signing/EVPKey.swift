import COpenSSL

/// Owns one OpenSSL key. The key never changes after it was made, and OpenSSL counts its references atomically, which is
/// why threads may share it.
final class EVPKey: @unchecked Sendable {
    enum Kind { case p256, rsa, ed25519 }

    private let pointer: OpaquePointer
    let kind: Kind

    /// Takes ownership of the pointer, also when it throws.
    init(owning pointer: OpaquePointer) throws(SigningError) {
        self.pointer = pointer
        kind = try EVPKey.checkedKind(of: pointer)
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// Reads a private key: PKCS#8 (also Apple's `.p8`), SEC 1 or PKCS#1 in PEM. Encrypted keys are refused.
    convenience init(privatePEM text: String) throws(SigningError) {
        let read = try Self.read(text, "reading the private key") {
            PEM_read_bio_PrivateKey($0, nil, refusePassword, nil)
        }
        try self.init(owning: read)
    }

    /// Reads a public key: SubjectPublicKeyInfo in PEM (`BEGIN PUBLIC KEY`).
    convenience init(publicPEM text: String) throws(SigningError) {
        let read = try Self.read(text, "reading the public key") { PEM_read_bio_PUBKEY($0, nil, refusePassword, nil) }
        try self.init(owning: read)
    }

    /// Reads a public key: SubjectPublicKeyInfo in DER, nothing before or after it. A point that is not on its curve is refused.
    convenience init(publicDER bytes: [UInt8]) throws(SigningError) {
        let key = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var position = buffer.baseAddress
            guard let key = d2i_PUBKEY(nil, &position, buffer.count) else { return nil }
            guard position == buffer.baseAddress.map({ $0 + buffer.count }) else {
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }
        guard let key else { throw .openSSL(.invalidKey, "reading the public key") }
        try self.init(owning: key)
    }

    /// Makes a new key.
    static func generate(_ kind: Kind) throws(SigningError) -> EVPKey {
        let identifier =
            switch kind {
            case .p256: EVP_PKEY_EC
            case .rsa: EVP_PKEY_RSA
            case .ed25519: EVP_PKEY_ED25519
            }
        guard let context = EVP_PKEY_CTX_new_id(identifier, nil) else {
            throw .openSSL(.operationFailed, "making a key")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, configure(context, for: kind),
            EVP_PKEY_generate(context, &made) == 1, let made
        else { throw .openSSL(.operationFailed, "making a key") }
        return try EVPKey(owning: made)
    }

    private static func configure(_ context: OpaquePointer, for kind: Kind) -> Bool {
        switch kind {
        case .p256: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1
        case .rsa: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1
        case .ed25519: true
        }
    }

    /// Lends the key to an OpenSSL call.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        body(pointer)
    }

    /// The private key as unencrypted PKCS#8 PEM.
    func privatePEM() throws(SigningError) -> String {
        try MemoryBIO.text("writing the private key") { bio in
            PEM_write_bio_PKCS8PrivateKey(bio, pointer, nil, nil, 0, nil, nil)
        }
    }

    /// The public half as SubjectPublicKeyInfo PEM.
    func publicPEM() throws(SigningError) -> String {
        try MemoryBIO.text("writing the public key") { bio in PEM_write_bio_PUBKEY(bio, pointer) }
    }

    /// The private half, the same whatever file it was read from: the number of a P-256 key, else DER. Empty for a key
    /// without one.
    var privateBytes: [UInt8] {
        defer { ERR_clear_error() }
        if kind == .p256 {
            var number: OpaquePointer?
            guard EVP_PKEY_get_bn_param(pointer, "priv", &number) == 1, let number else { return [] }
            defer { BN_clear_free(number) }
            var bytes = [UInt8](repeating: 0, count: 32)
            return BN_bn2binpad(number, &bytes, 32) == 32 ? bytes : []
        }
        let size = i2d_PrivateKey(pointer, nil)
        guard size > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            _ = i2d_PrivateKey(pointer, &start)
        }
        return bytes
    }

    /// Signs the message; for P-256 the signature is DER.
    func sign(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .openSSL(.operationFailed, "signing") }
        defer { EVP_MD_CTX_free(context) }
        var length = 0
        guard EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1,
            EVP_DigestSign(context, nil, &length, message, message.count) == 1
        else { throw .openSSL(.operationFailed, "signing") }
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else {
            throw .openSSL(.operationFailed, "signing")
        }
        return Array(signature.prefix(length))
    }

    /// Whether the signature (DER for P-256) is the message's.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        // OpenSSL leaves the reason of every failed verification in the thread's error queue.
        defer { ERR_clear_error() }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, digest, nil, pointer) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// Ed25519 hashes by itself and takes no digest.
    private var digest: OpaquePointer? { kind == .ed25519 ? nil : EVP_sha256() }

    private static func read(
        _ text: String,
        _ action: String,
        _ reader: (OpaquePointer) -> OpaquePointer?
    ) throws(SigningError) -> OpaquePointer {
        let bytes = Array(text.utf8)
        guard bytes.count <= 65_536 else { throw SigningError(.invalidKey, "\(action) failed: longer than 64 KiB") }
        let key = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { BIO_free(bio) }
            return reader(bio)
        }
        guard let key else { throw .openSSL(.invalidKey, action) }
        return key
    }

    /// Holds RFC 8725's key rules: P-256 alone of the curves, RSA from 2,048 bits with an odd exponent of at least 65,537.
    private static func checkedKind(of pointer: OpaquePointer) throws(SigningError) -> Kind {
        switch EVP_PKEY_get_base_id(pointer) {
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 64)
            var length = 0
            guard EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1,
                String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) == "prime256v1"
            else {
                ERR_clear_error()
                throw SigningError(.refusedKey, "an EC key must be on curve P-256")
            }
            return .p256
        case EVP_PKEY_RSA:
            guard EVP_PKEY_get_bits(pointer) >= 2048 else {
                throw SigningError(.refusedKey, "an RSA key needs at least 2048 bits")
            }
            var exponent: OpaquePointer?
            guard EVP_PKEY_get_bn_param(pointer, "e", &exponent) == 1, let exponent else {
                throw .openSSL(.invalidKey, "reading the RSA exponent")
            }
            defer { BN_free(exponent) }
            guard BN_is_odd(exponent) == 1, BN_num_bits(exponent) >= 17 else {
                throw SigningError(.refusedKey, "an RSA exponent must be odd and at least 65537")
            }
            return .rsa
        case EVP_PKEY_ED25519:
            return .ed25519
        default:
            throw SigningError(.refusedKey, "the key is neither EC P-256 nor RSA nor Ed25519")
        }
    }
}

/// Answers OpenSSL's question for a password with a refusal: without a callback it would ask on the terminal and wait.
func refusePassword(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int32,
    _ writing: Int32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    -1
}
