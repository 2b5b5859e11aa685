/// Makes EC keys for the simulator, for development and for tests.
package enum ECKey {
    /// A new P-256 key: the private half as PKCS#8 PEM (the form of Apple's `.p8` files) and the public half as PEM.
    package static func generateP256() throws(SigningError) -> (privatePEM: String, publicPEM: String) {
        let key = try EVPKey.generate(.p256)
        return (try key.privatePEM(), try key.publicPEM())
    }
}
