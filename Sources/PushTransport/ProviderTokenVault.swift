/// A place where all processes that send as one team keep the provider token that they share.
///
/// Apple lets several servers use one token, and counts changes; processes that mint one each make them for nothing.
package protocol ProviderTokenVault: Sendable {
    /// Lays `candidate` down for `lifetime`, unless another token than `replacing` lies there already. Atomic: of many callers
    /// at once one wins, and all are told its token.
    /// - Parameters:
    ///   - name: tells teams and keys apart; letters, digits and `-`.
    ///   - candidate: a sealed token; the vault cannot read it.
    ///   - replacing: the sealed token that is no longer wanted.
    /// - Returns: the sealed token that lies there now, and how long it has lain there.
    /// - Throws: when the vault does not answer in time; the caller then goes on without it.
    func settle(
        _ name: String,
        candidate: [UInt8],
        replacing: [UInt8]?,
        lifetime: Duration
    ) async throws -> (sealed: [UInt8], age: Duration)
}
