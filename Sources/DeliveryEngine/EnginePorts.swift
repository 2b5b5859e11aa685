/// Everything outside that the engine works through.
package struct EnginePorts: Sendable {
    package let jobs: any JobLeasing
    package let recipients: any RecipientReading
    package let caps: any CapTaking
    package let messages: any MessageWriting
    package let push: any PushSending
    package let outcomes: any OutcomeRecording
    package let tokens: any TokenInvalidating
    package let statistics: any StatisticsCounting
    package let upkeep: any MessageUpkeep
    package let slotDebts: any SlotDebtKeeping

    package init(
        jobs: any JobLeasing,
        recipients: any RecipientReading,
        caps: any CapTaking,
        messages: any MessageWriting,
        push: any PushSending,
        outcomes: any OutcomeRecording,
        tokens: any TokenInvalidating,
        statistics: any StatisticsCounting,
        upkeep: any MessageUpkeep,
        slotDebts: any SlotDebtKeeping
    ) {
        self.jobs = jobs
        self.recipients = recipients
        self.caps = caps
        self.messages = messages
        self.push = push
        self.outcomes = outcomes
        self.tokens = tokens
        self.statistics = statistics
        self.upkeep = upkeep
        self.slotDebts = slotDebts
    }
}
