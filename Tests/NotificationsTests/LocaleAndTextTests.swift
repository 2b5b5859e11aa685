import NotificationContract
import Notifications
import Testing

struct LocaleAndTextTests {
    @Test(
        arguments: [
            (nil, ServerLocale.english), ("en-GB", .english), ("nb-NO", .norwegian), ("no", .norwegian),
            ("nn", .norwegian),
            ("pt-BR", .portuguese), ("zh", .simplifiedChinese), ("zh-CN", .simplifiedChinese),
            ("zh-Hans-HK", .simplifiedChinese),
            ("zh-Hant", .english), ("zh-TW", .english), ("DE_at", .german), ("tlh", .english), ("", .english),
        ] as [(String?, ServerLocale)]
    )
    func `a language tag finds its texts (P9)`(tag: String?, locale: ServerLocale) {
        #expect(ServerLocale.resolve(tag) == locale)
    }

    private let catalog = Catalog(
        texts: [
            .english: ["reminder.title": "Reminder", "greet": "Hi from {appName}, {tierName}", "only": "English"],
            .german: ["greet": "Hallo von {appName}, {tierName}"],
        ],
        appName: "Impulse AI"
    )

    @Test func `missing texts fall back to English key by key`() {
        #expect(catalog.t("only", .german) == "English")
        #expect(catalog.tVar("greet", .german, ["tierName": "Pro"]) == "Hallo von Impulse AI, Pro")
    }

    @Test func `a variable's own braces are not filled again`() {
        #expect(catalog.tVar("greet", .english, ["tierName": "{appName}"]) == "Hi from Impulse AI, {appName}")
    }

    @Test func `a missing title is the category's, then the app's name`() throws {
        let reminder = try CategoryRegistry.standard.category(.init("reminder"))
        let campaign = try CategoryRegistry.standard.category(.init("campaign"))
        let text = NotificationText.literal(body: "x")
        #expect(catalog.pushText(text, title: nil, category: reminder, locale: .german).title == "Reminder")
        #expect(catalog.pushText(text, title: "  ", category: campaign, locale: .german).title == "Impulse AI")
        #expect(catalog.pushText(text, title: "Mine", category: campaign, locale: .german).title == "Mine")
    }
}
