import Notifications
import Testing

/// The texts as they ship: every language complete, nothing that does not belong on a lock screen (P3, P6, P9, P10).
struct ShippedTextsTests {
    private let catalog: Catalog

    init() throws {
        catalog = try Catalog.standard(appName: "Impulse AI")
    }

    @Test(arguments: ServerLocale.allCases)
    func `every language has every text, with the same placeholders`(locale: ServerLocale) throws {
        #expect(catalog.keys.count >= 19)
        for key in catalog.keys {
            let english = try #require(catalog.exact(key, .english))
            let text = try #require(catalog.exact(key, locale), "\(key) is missing in \(locale.rawValue)")
            #expect(
                Catalog.placeholders(of: text).sorted() == Catalog.placeholders(of: english).sorted(),
                "\(key) in \(locale.rawValue)"
            )
            let known = Set(Placeholder.allCases.map(\.rawValue))
            #expect(known.isSuperset(of: Catalog.placeholders(of: text)), "\(key) in \(locale.rawValue)")
        }
    }

    @Test(arguments: ServerLocale.allCases)
    func `texts are short and calm`(locale: ServerLocale) {
        for key in catalog.keys {
            let text = catalog.tVar(key, locale, ["tierName": "Premium Family", "expiryDate": "30 September 2026"])
            #expect(text.count <= 120, "\(key) in \(locale.rawValue)")
            #expect(!text.contains { "!！¡‼❗—–―⸺".contains($0) }, "\(key) in \(locale.rawValue): \(text)")
            #expect(!text.contains { "{}".contains($0) }, "\(key) in \(locale.rawValue): \(text)")
            #expect(text.first?.isWhitespace == false && text.last?.isWhitespace == false)
        }
    }

    /// How each language says that somebody is missed, or asks them back.
    private static let longing: [ServerLocale: [String]] = [
        .english: ["miss you", "missed you", "come back", "long time"], .norwegian: ["savne", "kom tilbake"],
        .swedish: ["sakna", "kom tillbaka"], .danish: ["savne", "kom tilbage"], .finnish: ["kaipa", "ikävä", "palaa"],
        .german: ["vermiss", "komm zurück"], .dutch: ["missen je", "mis je", "kom terug"],
        .french: ["manque", "revenez"], .spanish: ["extraña", "echamos de menos", "vuelve"],
        .italian: ["manchi", "ci manc", "torna"], .portuguese: ["saudade", "sentimos", "volte"],
        .polish: ["tęskni", "brakuje", "wróć"], .turkish: ["özle", "geri dön"], .japanese: ["寂し", "会いた", "お久し"],
        .korean: ["보고 싶", "그리워", "돌아와"], .simplifiedChinese: ["想念", "想你", "回来"],
    ]

    @Test(arguments: ServerLocale.allCases)
    func `no text says that somebody is missed, in any language (P3)`(locale: ServerLocale) throws {
        let phrases = try #require(Self.longing[locale])
        for key in catalog.keys {
            let text = catalog.t(key, locale).lowercased()
            #expect(!phrases.contains { text.contains($0) }, "\(key): \(text)")
        }
    }

    @Test(arguments: ServerLocale.allCases)
    func `a product without a name of its own makes a sentence too (P6)`(locale: ServerLocale) {
        let tier = catalog.t("common.tier", locale)
        let text = catalog.tVar("lifecycle.subscription_expiring", locale, ["tierName": tier, "expiryDate": "2026"])
        #expect(text.count <= 120 && text.contains(tier), "\(text)")
        // Where there are capitals, a sentence begins with one.
        #expect(text.first.map { String($0) == $0.uppercased() } == true, "\(text)")
    }

    @Test(arguments: ServerLocale.allCases.filter { $0 != .english })
    func `no text is left in English`(locale: ServerLocale) {
        for key in catalog.keys {
            #expect(catalog.exact(key, locale) != catalog.exact(key, .english), "\(key) in \(locale.rawValue)")
        }
    }

    @Test(arguments: [
        ("reminder.step1.a", "You captured something important. How did it go?"),
        ("reminder.step1.b", "Have you checked in with yourself today?"),
        ("reminder.step1.c", "Your impulse is waiting. Take a moment."),
        ("reminder.step2", "Impulse AI is here when you need it."),
        ("reminder.step3", "Capture an impulse when you're ready."),
        ("reminder.step4", "We're here. One tap away."),
        ("lifecycle.renewal_failed", "We couldn't renew your subscription. Update your payment info."),
        ("lifecycle.subscription_expired", "Your subscription has expired. You can renew anytime."),
        (
            "lifecycle.grace_period_expired",
            "Your subscription is about to expire. Update payment to avoid interruption."
        ),
        ("lifecycle.subscription_expiring", "Your Premium expires 3 May."),
        ("reminder.action.open", "Open impulse"), ("lifecycle.action.renew", "Renew subscription"),
    ])
    func `the English words are the agreed ones`(key: String, words: String) {
        #expect(catalog.tVar(key, .english, ["tierName": "Premium", "expiryDate": "3 May"]) == words)
    }

    @Test func `every category has a name for the settings screen and a title for its pushes`() {
        for category in CategoryRegistry.standard.all {
            #expect(catalog.contains(category.nameKey), "\(category.nameKey)")
            #expect(catalog.contains(category.titleKey), "\(category.titleKey)")
        }
    }
}
