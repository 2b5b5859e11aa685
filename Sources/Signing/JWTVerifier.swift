package import Kernel

/// Decides whether a JWT is an acceptable access token (RFC 7519, RFC 8725, RFC 9068).
package struct JWTVerifier: Sendable {
    /// What a token must say beside carrying a good signature.
    package struct Rules: Sendable {
        /// The exact `iss`; `nil` accepts any.
        package var issuer: String?
        /// The exact value that `aud` must be or contain; `nil` accepts any.
        package var audience: String?
        /// How far clocks may disagree, both ways; at most five minutes.
        package var leeway: Duration
        /// The `typ` that is required, such as `at+jwt`, so that an ID token is not taken for an access token.
        package var requiredType: String?
        /// The longest time from `iat` (without one: from now) to `exp`. It also catches times in milliseconds.
        package var maximumLifetime: Duration

        package init(
            issuer: String? = nil,
            audience: String? = nil,
            leeway: Duration = .seconds(30),
            requiredType: String? = nil,
            maximumLifetime: Duration = .seconds(86_400)
        ) {
            self.issuer = issuer
            self.audience = audience
            self.leeway = min(max(leeway, .zero), .seconds(300))
            self.requiredType = requiredType
            self.maximumLifetime = maximumLifetime
        }
    }

    private let signatures: JWSVerifier
    private let rules: Rules

    /// - Throws: `duplicateKeyID` or `invalidKey` when the keys do not make a set.
    package init(keys: [VerificationKey], rules: Rules) throws(SigningError) {
        signatures = try JWSVerifier(keys: keys)
        self.rules = rules
    }

    /// - Throws: `duplicateKeyID` or `invalidKey` when the keys do not make a set.
    package init(
        keys: [VerificationKey],
        issuer: String? = nil,
        audience: String? = nil,
        leeway: Duration = .seconds(30),
        requiredType: String? = nil
    ) throws(SigningError) {
        let rules = Rules(issuer: issuer, audience: audience, leeway: leeway, requiredType: requiredType)
        try self.init(keys: keys, rules: rules)
    }

    /// Verifies signature and claims at the moment `now`.
    /// - Throws: the first reason to refuse, in a fixed order: form, key, signature, type, times, issuer, audience, subject.
    package func verify(_ token: String, now: Timestamp) throws(JWTError) -> JWTClaims {
        let jws = try signatures.verify(token)
        try checkType(jws.header["typ"])
        let claims = try read(jws.payload)
        try checkTimes(claims, now: now)
        if let issuer = rules.issuer, claims.issuer != issuer {
            throw JWTError(.issuer, "iss is missing or another")
        }
        if let audience = rules.audience, !claims.audience.contains(audience) {
            throw JWTError(.audience, "aud is missing or another")
        }
        return claims
    }

    private func checkType(_ member: JSONValue?) throws(JWTError) {
        if let member, member.stringValue == nil { throw JWTError(.header, "the header typ is no string") }
        guard let required = rules.requiredType else { return }
        // RFC 7515, 4.1.9: a media type, case-insensitive, whose prefix "application/" may be left out.
        var type = (member?.stringValue ?? "").lowercased()
        if type.hasPrefix("application/") { type.removeFirst("application/".count) }
        guard type == required.lowercased() else { throw JWTError(.type, "typ is not \(required)") }
    }

    private func checkTimes(_ claims: JWTClaims, now: Timestamp) throws(JWTError) {
        let latestStart = now + rules.leeway
        if let notBefore = claims.notBefore, notBefore > latestStart {
            throw JWTError(.notYetValid, "nbf lies in the future")
        }
        if let issuedAt = claims.issuedAt, issuedAt > latestStart {
            throw JWTError(.notYetValid, "iat lies in the future")
        }
        guard now < claims.expiresAt + rules.leeway else { throw JWTError(.expired, "exp has passed") }
        let lifetime = claims.expiresAt - (claims.issuedAt ?? latestStart)
        guard lifetime <= rules.maximumLifetime else {
            throw JWTError(.claims, "the token lives longer than \(rules.maximumLifetime.components.seconds) s")
        }
    }

    private func read(_ payload: JSONValue) throws(JWTError) -> JWTClaims {
        guard let expiresAt = try time("exp", in: payload) else { throw JWTError(.claims, "exp is missing") }
        let notBefore = try time("nbf", in: payload)
        let issuedAt = try time("iat", in: payload)
        let issuer = try string("iss", in: payload)
        let tokenID = try string("jti", in: payload)
        let scope = try string("scope", in: payload) ?? ""
        guard let subject = payload["sub"]?.stringValue, SubjectRule.accepts(subject) else {
            throw JWTError(.subject, "sub is missing or not 1 to 128 of A-Z a-z 0-9 . _ - | @ : +")
        }
        return JWTClaims(
            subject: subject,
            issuer: issuer,
            audience: try audience(in: payload),
            expiresAt: expiresAt,
            notBefore: notBefore,
            issuedAt: issuedAt,
            tokenID: tokenID,
            scope: Set(scope.split(separator: " ").map(String.init)),
            json: payload
        )
    }

    private func string(_ name: String, in payload: JSONValue) throws(JWTError) -> String? {
        guard let member = payload[name] else { return nil }
        guard let text = member.stringValue else { throw JWTError(.claims, "\(name) is \(member.kind), not a string") }
        return text
    }

    private func audience(in payload: JSONValue) throws(JWTError) -> [String] {
        switch payload["aud"] {
        case nil: return []
        case .string(let one): return [one]
        case .array(let several):
            let texts = several.compactMap(\.stringValue)
            guard texts.count == several.count else { throw JWTError(.audience, "aud holds more than strings") }
            return texts
        default: throw JWTError(.audience, "aud is neither a string nor a list")
        }
    }

    /// Reads a NumericDate: seconds, possibly with a fraction. The bound of 10^11 s (the year 5138) keeps the arithmetic
    /// exact and refuses milliseconds.
    private func time(_ name: String, in payload: JSONValue) throws(JWTError) -> Timestamp? {
        guard let member = payload[name] else { return nil }
        guard case .number(let number) = member, let seconds = number.double, seconds.isFinite, seconds > 0,
            seconds < 1e11
        else { throw JWTError(.claims, "\(name) is no time in seconds") }
        return Timestamp(milliseconds: Int64(seconds * 1000))
    }
}
