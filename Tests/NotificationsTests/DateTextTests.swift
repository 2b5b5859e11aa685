import Notifications
import Testing

struct DateTextTests {
    @Test(arguments: [
        (ServerLocale.english, "December 31, 2026", "May 1, 2027"), (.norwegian, "31. desember 2026", "1. mai 2027"),
        (.swedish, "31 december 2026", "1 maj 2027"), (.danish, "31. december 2026", "1. maj 2027"),
        (.finnish, "31. joulukuuta 2026", "1. toukokuuta 2027"), (.german, "31. Dezember 2026", "1. Mai 2027"),
        (.dutch, "31 december 2026", "1 mei 2027"), (.french, "31 décembre 2026", "1er mai 2027"),
        (.spanish, "31 de diciembre de 2026", "1 de mayo de 2027"), (.italian, "31 dicembre 2026", "1 maggio 2027"),
        (.portuguese, "31 de dezembro de 2026", "1 de maio de 2027"), (.polish, "31 grudnia 2026", "1 maja 2027"),
        (.turkish, "31 Aralık 2026", "1 Mayıs 2027"), (.japanese, "2026年12月31日", "2027年5月1日"),
        (.korean, "2026년 12월 31일", "2027년 5월 1일"), (.simplifiedChinese, "2026年12月31日", "2027年5月1日"),
    ])
    func `a date is written as in its language (P6)`(_ locale: ServerLocale, _ winter: String, _ spring: String) {
        #expect(DateText.long(iso: "2026-12-31", locale) == winter)
        #expect(DateText.long(iso: "2027-05-01", locale) == spring)
    }

    @Test func `every language writes twelve different months`() {
        for locale in ServerLocale.allCases {
            let texts = Set((1...12).compactMap { DateText.long(year: 2026, month: $0, day: 2, locale) })
            #expect(texts.count == 12, "\(locale)")
        }
    }

    @Test(arguments: ["2026-13-01", "2026-00-01", "2026-01-32", "2026-01", "", "x-y-z", "2026-01-01-01"])
    func `what is no date gives no text`(_ text: String) {
        #expect(DateText.long(iso: text, .english) == nil)
    }
}
