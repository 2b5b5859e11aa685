/// The places between two steps at which a test may end the process, to prove that nothing is lost there.
package enum Checkpoint: String, Sendable, CaseIterable {
    case afterClaim = "after_claim"
    case afterCaps = "after_caps"
    case afterWrite = "after_write"
    case afterSend = "after_send"
    case afterInvalidation = "after_invalidation"
    case afterRecord = "after_record"
    case afterGiveBack = "after_give_back"
    case afterEnd = "after_end"

    /// Called whenever a checkpoint is passed; does nothing outside tests.
    package typealias Hook = @Sendable (Checkpoint) -> Void
}
