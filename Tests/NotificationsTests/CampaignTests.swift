import Kernel
import Notifications
import Testing

struct CampaignTests {
    private static let allowed: [CampaignState: [CampaignAction: CampaignState]] = [
        .draft: [.edit: .draft, .schedule: .scheduled],
        .scheduled: [.unschedule: .draft, .begin: .sending, .stop: .stopped],
        .sending: [.finish: .sent, .stop: .stopped],
        .sent: [.stop: .stopped],
        .stopped: [.stop: .stopped],
    ]

    @Test(arguments: CampaignState.allCases, CampaignAction.allCases)
    func `every action leads where the table says, and nowhere else (P8)`(
        state: CampaignState,
        action: CampaignAction
    ) {
        #expect(state.after(action) == Self.allowed[state]?[action])
        #expect(CampaignState.allowing(action).contains(state) == (Self.allowed[state]?[action] != nil))
    }

    @Test(arguments: [
        ("de", "de"), ("de-AT", "de"), ("nn", "nb"), ("no_NO", "nb"), ("fr", "de"), ("xx", "de"), ("zh-TW", "de"),
        ("en-GB", "en"),
        (nil, "de"),
    ])
    func `a user reads the words of their language, or the fallback's (P8)`(tag: String?, read: String) throws {
        let texts = try #require(
            CampaignTexts(
                [.english: .init(body: "en"), .german: .init(title: "t", body: "de"), .norwegian: .init(body: "nb")],
                fallback: .german
            )
        )
        #expect(texts.text(for: tag).locale.rawValue == read)
        #expect(texts.text(for: tag).text.body == read)
        #expect(CampaignTexts(json: texts.json) == texts)
        #expect(CampaignTexts([.english: .init(body: "b")], fallback: .german) == nil)
    }

    @Test func `an audience is stored as it was chosen`() {
        let all = CampaignAudience()
        let some = CampaignAudience(
            languages: [.german],
            zones: ["Europe/Oslo"],
            platforms: ["ios"],
            activeWithinDays: 7,
            inactiveForDays: 3,
            usesList: true
        )
        #expect(CampaignAudience(json: all.json) == all)
        #expect(CampaignAudience(json: some.json) == some)
    }

    @Test(arguments: [
        ("2026-12-24T09:30", "2026-12-23T19:30:00Z"), ("2026-12-24T09:30:15", "2026-12-23T19:30:15Z"),
        ("2026-12-24", nil), ("2026-13-24T09:30", nil), ("2026-12-24T09:30Z", nil), ("", nil),
    ])
    func `a local time begins in the first zone of the world`(text: String, first: String?) {
        #expect(CampaignTiming.LocalTime(text)?.first == first.flatMap { Timestamp(rfc3339: $0) })
    }
}
