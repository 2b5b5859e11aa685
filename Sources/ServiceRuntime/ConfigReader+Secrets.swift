import Glibc

extension ConfigReader {
    /// A secret that may be left out: from the variable itself, or from the file named by `<name>_FILE` (as systemd's
    /// `LoadCredential=` provides).
    /// - Parameters:
    ///   - name: the variable.
    ///   - minimumLength: the fewest characters it must have.
    package func optionalSecret(_ name: String, minimumLength: Int = 1) -> String? {
        let value = secretText(name)
        note(name, shown: value == nil ? "" : "***", isDefault: value == nil)
        guard let value else { return nil }
        check(name, secret: value, minimumLength: minimumLength)
        return value
    }

    /// A secret that must be set; see `optionalSecret`.
    package func secret(_ name: String, _ meaning: String, minimumLength: Int = 1) -> String {
        let before = problems.count
        if let value = optionalSecret(name, minimumLength: minimumLength) { return value }
        if problems.count == before { report(name, "not set", fix: meaning) }
        return ""
    }

    private func check(_ name: String, secret: String, minimumLength: Int) {
        if secret.count < minimumLength {
            report(
                name,
                "is only \(secret.count) characters long",
                fix: "Set at least \(minimumLength) characters, such as the output of `openssl rand -hex 32`."
            )
        } else if secret.contains(where: \.isWhitespace) {
            report(name, "holds white space", fix: "Remove the white space from the secret.")
        }
    }

    private func secretText(_ name: String) -> String? {
        let fileName = name + "_FILE"
        guard let path = text(of: fileName) else { return rawText(of: name) }
        note(fileName, shown: path, isDefault: false)
        if rawText(of: name) != nil {
            report(name, "is set beside \(fileName)", fix: "Set one of the two.")
        }
        do {
            return trimmed(String(decoding: try FileContents.read(path, limit: 65_536), as: UTF8.self))
        } catch {
            report(fileName, error.reason, fix: "Name a readable file that holds the secret.")
            return nil
        }
    }
}

/// A text without the passwords of the URL it may be: `redis://user:***@host`, `postgresql:///db?password=***`.
///
/// It rather hides too much than too little: parsers such as libpq's take a raw `?` or `#` within a password, and decode the
/// names of parameters.
func withoutPassword(_ text: String) -> String {
    guard let scheme = text.firstRange(of: "://") else { return text }
    // The query first, so that an @ within a password there is not taken for the end of the user's part.
    return withoutUserPassword(withoutQueryPasswords(text), after: scheme)
}

private func withoutQueryPasswords(_ text: String) -> String {
    guard let question = text.firstIndex(of: "?") else { return text }
    let parameters = text[text.index(after: question)...].split(separator: "&", omittingEmptySubsequences: false)
    let shown = parameters.map { parameter in
        let name = parameter.prefix { $0 != "=" }
        return percentDecoded(name).lowercased().hasSuffix("password") ? "\(name)=***" : String(parameter)
    }
    return text[...question] + shown.joined(separator: "&")
}

private func withoutUserPassword(_ text: String, after scheme: Range<String.Index>) -> String {
    let authority = text[scheme.upperBound...].prefix { $0 != "/" }
    guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else { return text }
    return text[..<colon] + ":***" + text[at...]
}

private func percentDecoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        let pair = String(Substring(rest.prefix(2)))
        if byte == UInt8(ascii: "%"), pair.utf8.count == 2, let value = UInt8(pair, radix: 16) {
            bytes.append(value)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
