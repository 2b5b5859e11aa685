package import Kernel

/// Makes compact JWS tokens.
package enum JWTSigner {
    /// Signs the claims.
    /// - Parameters:
    ///   - header: members beside `alg` and `kid`, which come from the key.
    ///   - claims: a JSON object.
    /// - Throws: `operationFailed` when OpenSSL cannot sign.
    package static func sign(
        header: [JSONMember] = [],
        claims: JSONValue,
        key: SigningKey
    ) throws(SigningError) -> String {
        var members = [JSONMember("alg", .string(key.algorithm.name))]
        if let keyID = key.keyID { members.append(JSONMember("kid", .string(keyID))) }
        members += header.filter { $0.name != "alg" && $0.name != "kid" }
        let input = Base64URL.encode(JSONValue.object(members).utf8) + "." + Base64URL.encode(claims.utf8)
        return input + "." + Base64URL.encode(try key.sign(Array(input.utf8)))
    }
}
