/// What a run of the reminder producer did.
package struct ReminderReport: Sendable, Equatable {
    /// Zones in which it is a time of day for reminders.
    package var zones = 0
    /// Weeks freed because their reminder expired unseen.
    package var released = 0
    /// Claims of a run that died, taken up again.
    package var takenUp = 0
    /// Users found due by the sweep.
    package var due = 0
    /// Of these, the ones another run was quicker with.
    package var alreadyClaimed = 0
    /// Reminders handed to the bus.
    package var enqueued = 0
    /// Of these, the ones that were in the queue already.
    package var duplicates = 0
    /// Whether the run was told to stop before it was through.
    package var isStopped = false

    package init() {}

    /// Takes in what became of one page.
    mutating func add(_ page: ReminderReport) {
        due += page.due
        alreadyClaimed += page.alreadyClaimed
        enqueued += page.enqueued
        duplicates += page.duplicates
    }
}
