import Kernel
import Notifications
import Testing

@testable import Producers

struct ReminderVoiceTests {
    @Test(
        arguments: [
            (nil, .silent(reason: "no_activity")), (2, .silent(reason: "active")), (28, .silent(reason: "silent")),
            (4, .says(key: "reminder.step1.b", variables: [:])), (21, .says(key: "reminder.step4", variables: [:])),
        ] as [(Int?, VoiceAnswer)]
    )
    func `the reminder's voice says what a run would say, or why it is silent (G8, P2)`(
        days: Int?,
        answer: VoiceAnswer
    ) {
        let now = Timestamp(milliseconds: 1_796_083_200_000)
        #expect(ReminderVoice.words(lastActivity: days.map { now - .seconds($0 * 86_400) }, now: now) == answer)
    }
}
