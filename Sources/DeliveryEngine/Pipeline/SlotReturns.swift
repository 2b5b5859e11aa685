import Kernel
import Observability

/// Frees weekly slots. Slots that cannot be freed now are noted as debts, which `SlotKeeper` settles later, in this worker or
/// another: caps that are away hold up no push, and a worker that is killed then forgets none.
struct SlotReturns: Sendable {
    let caps: any CapTaking
    let debts: any SlotDebtKeeping
    let telemetry: Telemetry
    let failures: Counter

    /// Freeing twice is harmless.
    /// - Throws: when neither the caps nor the keeper of debts can be reached: the slots are still taken, and nobody knows.
    func giveBack(_ claims: [CapClaim]) async throws {
        guard !claims.isEmpty else { return }
        do {
            try await caps.giveBack(claims)
        } catch {
            failures.increment()
            telemetry.logger.warning(
                "slots could not be freed yet",
                ["slots": .integer(claims.count), "error": .error(error)]
            )
            try await debts.owe(claims.map(SlotDebt.init))
        }
    }
}
