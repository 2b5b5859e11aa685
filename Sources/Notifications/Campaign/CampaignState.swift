/// How far a campaign has come (P8).
package enum CampaignState: String, Sendable, CaseIterable {
    /// Being written; nothing happens by itself.
    case draft
    /// It will begin at its time.
    case scheduled
    /// Its audience is frozen and being handed to the queue.
    case sending
    /// Everybody was handed to the queue.
    case sent
    /// Called back; what was not delivered by then never is.
    case stopped
}

/// What may be done to a campaign, by people or by the producer.
package enum CampaignAction: String, Sendable, CaseIterable {
    /// Its content, audience or list changes, or it is removed.
    case edit
    case schedule
    case unschedule
    /// The producer freezes the audience.
    case begin
    /// The producer has handed over the last chunk.
    case finish
    case stop
}

extension CampaignState {
    /// The state after an action; `nil` where it is not allowed.
    package func after(_ action: CampaignAction) -> CampaignState? {
        switch (self, action) {
        case (.draft, .edit), (.scheduled, .unschedule): .draft
        case (.draft, .schedule): .scheduled
        case (.scheduled, .begin): .sending
        case (.sending, .finish): .sent
        // What is sent may still wait in the queue, for a worker or for a morning. Stopping twice is harmless.
        case (.scheduled, .stop), (.sending, .stop), (.sent, .stop), (.stopped, .stop): .stopped
        default: nil
        }
    }

    /// The states in which an action is allowed.
    package static func allowing(_ action: CampaignAction) -> [CampaignState] {
        allCases.filter { $0.after(action) != nil }
    }
}
