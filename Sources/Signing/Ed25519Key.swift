/// Makes Ed25519 keys for development and for tests.
package enum Ed25519Key {
    /// A new key: the private half as PKCS#8 PEM and the public half as PEM.
    package static func generate() throws(SigningError) -> (privatePEM: String, publicPEM: String) {
        let key = try EVPKey.generate(.ed25519)
        return (try key.privatePEM(), try key.publicPEM())
    }
}
