/// Dates as people write them, by language. The standard library has no such thing, and Foundation's costs a service 45 MB; sixteen
/// patterns with their month names (Unicode CLDR, long form, Gregorian calendar) are all that is needed.
package enum DateText {
    /// A day in the long form of a language, such as `31. desember 2026`.
    /// - Parameter month: 1 to 12.
    /// - Returns: `nil` for what is no month or day.
    package static func long(year: Int, month: Int, day: Int, _ locale: ServerLocale) -> String? {
        guard (1...12).contains(month), (1...31).contains(day), year > 0 else { return nil }
        let name = months(locale)?[month - 1] ?? ""
        switch locale {
        case .english: return "\(name) \(day), \(year)"
        case .norwegian, .danish, .finnish, .german: return "\(day). \(name) \(year)"
        case .swedish, .dutch, .italian, .polish, .turkish: return "\(day) \(name) \(year)"
        // The first of a month is spoken, and written, as "premier".
        case .french: return "\(day == 1 ? "1er" : String(day)) \(name) \(year)"
        case .spanish, .portuguese: return "\(day) de \(name) de \(year)"
        case .japanese, .simplifiedChinese: return "\(year)年\(month)月\(day)日"
        case .korean: return "\(year)년 \(month)월 \(day)일"
        }
    }

    /// The same for `2026-12-31`.
    package static func long(iso text: String, _ locale: ServerLocale) -> String? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 3, let year = parts[0], let month = parts[1], let day = parts[2] else { return nil }
        return long(year: year, month: month, day: day, locale)
    }

    /// Names as they stand within a date: Finnish, Polish and others decline them.
    private static func months(_ locale: ServerLocale) -> [String]? {
        let names: String? =
            switch locale {
            case .english: "January February March April May June July August September October November December"
            case .norwegian: "januar februar mars april mai juni juli august september oktober november desember"
            case .danish: "januar februar marts april maj juni juli august september oktober november december"
            case .swedish: "januari februari mars april maj juni juli augusti september oktober november december"
            case .finnish:
                "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta "
                    + "marraskuuta joulukuuta"
            case .german: "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
            case .dutch: "januari februari maart april mei juni juli augustus september oktober november december"
            case .french: "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
            case .spanish:
                "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
            case .italian:
                "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
            case .portuguese:
                "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
            case .polish:
                "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia"
            case .turkish: "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık"
            case .japanese, .korean, .simplifiedChinese: nil
            }
        return names?.split(separator: " ").map(String.init)
    }
}
