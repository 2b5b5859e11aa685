import Foundation
import NotificationContract
import Testing
import VarselKit

struct ForegroundTests {
    @Test func `lifecycle shows banner and sound, a reminder is swallowed, a campaign is as the registry says (I2)`()
        throws
    {
        #expect(ForegroundPresentation(of: try Repository.push("lifecycle")) == [.banner, .list, .sound])
        #expect(ForegroundPresentation(of: try Repository.push("reminder")) == [])
        #expect(ForegroundPresentation(of: try Repository.push("campaign")) == [.banner, .list, .sound, .badge])
    }

    @Test func `an arrival makes the inbox's first page stale (I2)`() throws {
        #expect(PushReactions().arrived(try Repository.push("reminder")) == [.reloadFirstPage])
    }

    @Test func `opening marks read and goes there, sweeping away does neither (I2)`() throws {
        let push = try Repository.push("reminder")
        let id = try #require(push.messageID)
        #expect(
            PushReactions().answered(push, actionID: "reminder.open")
                == [.markRead(id), .reloadFirstPage, .open("im://home?impulseId=e-1")]
        )
        #expect(PushReactions().answered(push, actionID: ActionRegistry.dismissal).isEmpty)
    }

    @Test func `the settings screen is what the gateway's categories say (I2)`() throws {
        let now = Date(timeIntervalSince1970: 1_796_117_400)
        let json = """
            [{"id":"reminder","name":"Påminnelser","icon":"bell","maxPerWeek":1,"userToggleable":true,"enabled":true},
            {"id":"lifecycle","name":"Kontovarsler","icon":"person.crop.circle","userToggleable":false,"enabled":true},
            {"id":"weather","name":"Vær","userToggleable":true,"enabled":false}]
            """
        let categories = try JSONDecoder().decode([CategoryInfo].self, from: Data(json.utf8))
        let preferences = Preferences(
            permission: .denied,
            switches: [.reminder: false, .lifecycle: false],
            silenceUntil: now.addingTimeInterval(6 * 86_400 + 1)
        )
        var model = SettingsModel(categories: categories, preferences: preferences, now: now)
        #expect(model.quietCard?.daysLeft == 7)
        #expect(model.needsSystemPermission)
        #expect(model.rows.map(\.name) == ["Påminnelser", "Kontovarsler", "Vær"])
        #expect(model.rows.map(\.isOn) == [false, true, false])
        #expect(model.rows.map(\.isLocked) == [false, true, false])
        #expect(model.set(.lifecycle, on: false) == nil)
        #expect(model.set(.reminder, on: false) == nil)
        #expect(model.set(.reminder, on: true) == PreferenceUpdate(switches: [.reminder: true]))
        #expect(model.rows[0].isOn)
        let later = SettingsModel(
            categories: categories,
            preferences: preferences,
            now: now.addingTimeInterval(7 * 86_400)
        )
        #expect(later.quietCard == nil)
    }
}
