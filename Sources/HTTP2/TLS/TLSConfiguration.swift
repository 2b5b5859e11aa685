/// Whose certificates are believed.
package enum TLSTrust: Sendable {
    /// The system's store (`ca-certificates`).
    case systemStore
    /// The certificates of a PEM file, and no others.
    case file(String)
    /// The certificates of a PEM text, and no others.
    case certificates(pem: String)
}

/// A certificate with its private key.
package struct TLSIdentity: Sendable {
    /// The certificate, then the rest of its chain.
    package let certificatePEM: String
    /// An unencrypted private key.
    package let privateKeyPEM: String

    package init(certificatePEM: String, privateKeyPEM: String) {
        self.certificatePEM = certificatePEM
        self.privateKeyPEM = privateKeyPEM
    }
}

/// How a client speaks TLS: 1.2 or later, ALPN `h2`. The peer's certificate and host name are always verified.
package struct TLSClientConfiguration: Sendable {
    package var trust: TLSTrust
    /// The name to ask for (SNI) and to verify, where it is not the host that is connected to.
    package var serverName: String?
    /// What the client shows when the server asks for a certificate.
    package var identity: TLSIdentity?

    package init(trust: TLSTrust = .systemStore, serverName: String? = nil, identity: TLSIdentity? = nil) {
        self.trust = trust
        self.serverName = serverName
        self.identity = identity
    }

    /// Trusts the certificates of the file, or the system's store where there is none.
    package init(caFile: String?, serverName: String? = nil, identity: TLSIdentity? = nil) {
        self.init(trust: caFile.map(TLSTrust.file) ?? .systemStore, serverName: serverName, identity: identity)
    }
}

/// How a server speaks TLS: 1.2 or later, ALPN `h2`.
package struct TLSServerConfiguration: Sendable {
    package var identity: TLSIdentity
    /// When set, clients must show a certificate that this trust accepts.
    package var clientTrust: TLSTrust?
    /// Whether a client may also show none, where `clientTrust` is set.
    package var clientMayStayUnknown: Bool

    package init(identity: TLSIdentity, clientTrust: TLSTrust? = nil, clientMayStayUnknown: Bool = false) {
        self.identity = identity
        self.clientTrust = clientTrust
        self.clientMayStayUnknown = clientMayStayUnknown
    }

    package init(certificatePEM: String, privateKeyPEM: String) {
        self.init(identity: TLSIdentity(certificatePEM: certificatePEM, privateKeyPEM: privateKeyPEM))
    }
}
