import Kernel
package import Signing

/// What was wrong with a service account's JSON or a project id. Carries no key.
package struct FCMCredentialError: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// A service account as Google hands it out, in the JSON file with its private key.
package struct ServiceAccount: Sendable {
    package let projectID: String
    package let clientEmail: String
    /// Signs assertions (RS256); its key id is Google's `private_key_id`.
    package let key: SigningKey
    /// Where assertions are exchanged; also their audience.
    package let tokenURL: String

    /// - Throws: for a text that is no service account, naming the member at fault.
    package init(json: some Sequence<UInt8>) throws(FCMCredentialError) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: json)
        } catch {
            throw FCMCredentialError(description: "is no JSON: \(error)")
        }
        guard value["type"]?.stringValue == "service_account" else {
            throw FCMCredentialError(description: "\"type\" is not \"service_account\"")
        }
        func text(_ name: String) throws(FCMCredentialError) -> String {
            guard let text = value[name]?.stringValue, !text.isEmpty else {
                throw FCMCredentialError(description: "\"\(name)\" is missing")
            }
            return text
        }
        projectID = try text("project_id")
        try Self.checkProject(projectID)
        clientEmail = try text("client_email")
        tokenURL = try text("token_uri")
        let keyID = try text("private_key_id")
        do {
            key = try SigningKey(pem: try text("private_key"), keyID: keyID)
        } catch let error as SigningError {
            throw FCMCredentialError(description: "\"private_key\": \(error)")
        } catch {
            throw FCMCredentialError(description: "\(error)")
        }
        guard key.algorithm == .rs256 else {
            throw FCMCredentialError(description: "\"private_key\" is no RSA key")
        }
        try AccessTokenExchange.checkTokenURL(tokenURL)
    }

    /// A project's id or number, as it may stand in a path.
    package static func checkProject(_ id: String) throws(FCMCredentialError) {
        let isPlain = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: ":"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isPlain, (1...100).contains(id.utf8.count) else {
            throw FCMCredentialError(
                description: "a project id is made of small letters, digits, dashes, dots and colons"
            )
        }
    }
}
