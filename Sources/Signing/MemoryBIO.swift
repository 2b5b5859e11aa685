import COpenSSL

/// Collects what OpenSSL writes into a BIO.
enum MemoryBIO {
    /// The text that `write` produced.
    /// - Throws: `operationFailed` when `write` answers anything but 1.
    static func text(_ action: String, _ write: (OpaquePointer) -> Int32) throws(SigningError) -> String {
        guard let bio = BIO_new(BIO_s_mem()) else { throw .openSSL(.operationFailed, action) }
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { throw .openSSL(.operationFailed, action) }
        let size = BIO_ctrl_pending(bio)
        var bytes = [UInt8](repeating: 0, count: size)
        guard BIO_read(bio, &bytes, Int32(size)) == Int32(size) else { throw .openSSL(.operationFailed, action) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
