/// Makes RSA keys for the simulator, for development and for tests.
package enum RSAKey {
    /// A new 2,048-bit key: the private half as PKCS#8 PEM (the form in Google's service account files) and the public half
    /// as PEM.
    package static func generate() throws(SigningError) -> (privatePEM: String, publicPEM: String) {
        let key = try EVPKey.generate(.rsa)
        return (try key.privatePEM(), try key.publicPEM())
    }
}
