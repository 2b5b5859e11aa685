import Foundation
import NotificationContract
import Testing
import VarselKit

struct ActionTests {
    private let registry = ActionRegistry.standard

    private func link(_ action: String, _ push: String, _ change: (inout NotificationPayload) -> Void = { _ in }) throws
        -> String?
    {
        var push = try Repository.push(push)
        change(&push)
        return registry.link(for: action, of: push)
    }

    @Test func `buttons lead where the table says (I1)`() throws {
        #expect(try link("reminder.open", "reminder") == "im://home?impulseId=e-1")
        #expect(try link("lifecycle.renew", "lifecycle") == "im://profile/subscription")
        #expect(registry.categories == [.reminder, .lifecycle])
        #expect(registry.actions(of: .campaign).isEmpty)
    }

    @Test func `a missing value gives the plain link, a tap the push's own, a dismissal none (I1)`() throws {
        #expect(try link("reminder.open", "reminder") { $0.entityID = nil } == "im://home?source=notification")
        #expect(try link(ActionRegistry.tap, "lifecycle") == "im://home?source=notification")
        #expect(try link(ActionRegistry.tap, "lifecycle") { $0.deeplinkURL = nil } == "im://profile/subscription")
        #expect(try link("no.longer.known", "campaign") { $0.deeplinkURL = nil } == "im://home?source=notification")
        #expect(try link("lifecycle.renew", "reminder") == "im://home?source=notification")
        #expect(try link(ActionRegistry.dismissal, "reminder") == nil)
    }

    @Test func `a value cannot reach beyond its place in a link`() {
        let template: LinkTemplate = "im://home?impulseId={id}"
        #expect(template.link(["id": "a&b=c#d/é {id}"]) == "im://home?impulseId=a%26b%3Dc%23d%2F%C3%A9%20%7Bid%7D")
        #expect(template.link([:]) == nil)
        #expect(template.link(["id": ""]) == nil)
        #expect(LinkTemplate("im://x{").link([:]) == "im://x{")
    }

    @Test func `the buttons' words are the catalog's, in all sixteen languages (I1)`() throws {
        for (file, key, action) in [
            ("reminder", "reminder.action.open", "reminder.open"),
            ("lifecycle", "lifecycle.action.renew", "lifecycle.renew"),
        ] {
            let catalog = try JSONDecoder()
                .decode(
                    [String: [String: String]].self,
                    from: Repository.data("Sources/Notifications/Texts/\(file).json")
                )
            let title = try #require(registry.actions.first { $0.id == action }).title
            #expect(Set(catalog.keys) == Set(LocalizedText.languages))
            for (language, texts) in catalog { #expect(title.text(preferring: [language]) == texts[key]) }
        }
    }

    @Test(
        arguments: [
            ("nb-NO", "nb"), ("nn", "nb"), ("no", "nb"), ("zh-Hans-CN", "zh-Hans"), ("zh_TW", nil), ("pt-BR", "pt"),
            ("xx", nil),
            ("", nil), ("EN-gb", "en"), ("zh", "zh-Hans"),
        ] as [(String, String?)]
    )
    func `a tag finds its language`(tag: String, language: String?) {
        #expect(LocalizedText.language(of: tag) == language)
    }

    @Test func `the first language that there is wins, English is last`() {
        let title = registry.actions[0].title
        #expect(title.text(preferring: ["xx", "nb-NO", "sv"]) == "Åpne impulsen")
        #expect(title.text(preferring: []) == "Open impulse")
    }
}
