import DeliveryEngine
import HTTPServer
import Kernel
import NotificationContract
import Notifications

/// Reads what an operator writes of a campaign, with every fault told at once.
struct CampaignReader: Sendable {
    private static let members = ["name", "texts", "fallbackLanguage", "deeplinkUrl", "audience", "pacePerMinute"]
    private static let audienceMembers = [
        "languages", "zones", "platforms", "activeWithinDays", "inactiveForDays", "list",
    ]
    private static let longestName = 200
    /// Entries of a list in an audience.
    static let mostChoices = 600
    static let paceRange = 1...10_000_000
    static let dayRange = 1...3650

    let parser: NotificationParser
    let catalog: Catalog
    let category: Notifications.Category

    /// Reads the whole content of a new campaign.
    func content(_ value: JSONValue) throws(Problem) -> CampaignContent {
        var body = try BodyReader(value)
        refuseUnknown(in: value, but: Self.members, at: "", &body)
        let name = body.requiredText("name", limit: Self.longestName) ?? ""
        let deeplink = body.text("deeplinkUrl", limit: NotificationLimits.deeplink)
        let texts = texts(&body)
        check(texts, deeplink, &body)
        let audience = audience(&body)
        let pace = number("pacePerMinute", in: Self.paceRange, of: body.value, at: "", &body)
        try body.finish()
        guard let texts else { throw Problem.unacceptable([]) }
        return CampaignContent(name: name, texts: texts, deeplinkURL: deeplink, audience: audience, pace: pace)
    }

    /// Reads a change: members that are not given stay as they are.
    func content(_ value: JSONValue, changing old: CampaignContent) throws(Problem) -> CampaignContent {
        var body = try BodyReader(value)
        let given = body.value.members ?? []
        refuseUnknown(in: value, but: Self.members + ["version"], at: "", &body)
        try body.finish()
        let kept = (old.json.members ?? []).filter { member in !given.contains { $0.name == member.name } }
        return try content(.object(kept + given.filter { Self.members.contains($0.name) }))
    }

    /// A member that nobody reads is a mistake: an audience with a mistyped criterion would be everybody.
    private func refuseUnknown(in value: JSONValue, but known: [String], at place: String, _ body: inout BodyReader) {
        for member in value.members ?? [] where !known.contains(member.name) {
            body.report(
                place + JSONPointer.token(String(member.name.prefix(64))),
                "is not known; known are \(known.joined(separator: ", "))"
            )
        }
    }

    private func texts(_ body: inout BodyReader) -> CampaignTexts? {
        let fallback = body.choice("fallbackLanguage", ServerLocale.self)
        if body.member("fallbackLanguage") == nil { body.report("fallbackLanguage", "is missing") }
        guard let members = body.member("texts")?.members, !members.isEmpty else {
            body.report("texts", "must be an object of texts by language")
            return nil
        }
        var texts: [ServerLocale: CampaignTexts.Text] = [:]
        for member in members {
            guard let locale = ServerLocale(rawValue: member.name) else {
                let known = ServerLocale.allCases.map(\.rawValue).joined(separator: ", ")
                body.report("texts/\(member.name.prefix(35))", "is no language of the catalog; those are \(known)")
                continue
            }
            // Not `nil` alone: that would be JSON's null.
            let title = member.value["title"].flatMap { $0.isNull ? Optional<JSONValue>.none : $0 }
            guard let words = member.value["body"]?.stringValue, title == nil || title?.stringValue != nil else {
                body.report("texts/\(member.name)", "must be an object with a \"body\" and perhaps a \"title\"")
                continue
            }
            texts[locale] = CampaignTexts.Text(title: title?.stringValue, body: words)
        }
        guard let fallback else { return nil }
        guard let result = CampaignTexts(texts, fallback: fallback) else {
            body.report("fallbackLanguage", "has no text")
            return nil
        }
        return result
    }

    /// Holds each text against the rules for a notification and the size of a push.
    private func check(_ texts: CampaignTexts?, _ deeplink: String?, _ body: inout BodyReader) {
        for (locale, text) in (texts?.byLocale ?? [:]).sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            var order: [JSONMember] = [
                JSONMember("userId", "u"), JSONMember("category", .string(category.id.rawValue)),
                JSONMember("body", .string(text.body)),
            ]
            if let title = text.title { order.append(JSONMember("title", .string(title))) }
            do throws(FieldProblems) {
                _ = try parser.parse(.object(order))
            } catch {
                for problem in error.problems {
                    body.report("texts/\(locale.rawValue)\(problem.pointer)", problem.message)
                }
                continue
            }
            let words = catalog.campaignText(text, category: category, locale: locale)
            let id = MessageID(at: Timestamp(milliseconds: 0), entropy: [])
            let payload = try? PushPayload.alert(
                text: words,
                category: category,
                messageID: id,
                deeplinkURL: deeplink ?? category.defaultDeeplink,
                entityID: CampaignID(id.bits).source
            )
            // A push that is too long is cut; an operator can write less instead.
            let sent = payload.flatMap { try? JSONValue(parsing: $0) }?["aps"]?["alert"]?["body"]
            if sent != .string(words.body) {
                let kept = sent?.stringValue?.count ?? 0
                body.report(
                    "texts/\(locale.rawValue)",
                    "is too long for a push with this link: of its \(words.body.count) characters \(kept) fit"
                )
            }
        }
        guard let deeplink else { return }
        let order: JSONValue = [
            "userId": "u", "category": .string(category.id.rawValue), "body": "x", "deeplinkUrl": .string(deeplink),
        ]
        do throws(FieldProblems) {
            _ = try parser.parse(order)
        } catch {
            for problem in error.problems { body.report("deeplinkUrl", problem.message) }
        }
    }

    private func audience(_ body: inout BodyReader) -> CampaignAudience {
        guard let value = body.member("audience") else { return CampaignAudience() }
        guard value.members != nil else {
            body.report("audience", "must be an object, not \(value.kind)")
            return CampaignAudience()
        }
        refuseUnknown(in: value, but: Self.audienceMembers, at: "audience/", &body)
        let languages = list("languages", of: value, &body)
        if let unknown = languages?.first(where: { ServerLocale(rawValue: $0) == nil }) {
            body.report("audience/languages", "holds \"\(unknown)\", which is no language of the catalog")
        }
        if let usesList = value["list"], !usesList.isNull, usesList.boolValue == nil {
            body.report("audience/list", "must be true or false")
        }
        return CampaignAudience(
            languages: languages?.compactMap(ServerLocale.init),
            zones: list("zones", of: value, &body),
            platforms: list("platforms", of: value, &body),
            activeWithinDays: number("activeWithinDays", in: Self.dayRange, of: value, at: "audience/", &body),
            inactiveForDays: number("inactiveForDays", in: Self.dayRange, of: value, at: "audience/", &body),
            usesList: value["list"]?.boolValue ?? false
        )
    }

    private func list(_ name: String, of value: JSONValue, _ body: inout BodyReader) -> [String]? {
        guard let list = value[name], !list.isNull else { return nil }
        let texts = list.arrayValue?.compactMap(\.stringValue)
        guard let texts, texts.count == list.arrayValue?.count, (1...Self.mostChoices).contains(texts.count),
            texts.allSatisfy({ (1...64).contains($0.utf8.count) && !$0.utf8.contains(0) })
        else {
            body.report("audience/\(name)", "must be a list of 1 to \(Self.mostChoices) short texts")
            return nil
        }
        return texts
    }

    private func number(
        _ name: String,
        in range: ClosedRange<Int>,
        of value: JSONValue,
        at pointer: String,
        _ body: inout BodyReader
    ) -> Int? {
        guard let member = value[name], !member.isNull else { return nil }
        guard let number = member.integerValue.flatMap({ Int(exactly: $0) }), range.contains(number) else {
            body.report(pointer + name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }
}

extension CampaignContent {
    /// As the API writes and reads it.
    var json: JSONValue {
        let texts = (texts.json.members ?? []).filter { $0.name != "fallback" }
        return [
            "name": .string(name), "texts": .object(texts),
            "fallbackLanguage": .string(self.texts.fallback.rawValue), "deeplinkUrl": .optional(deeplinkURL),
            "audience": audience.json, "pacePerMinute": pace.map { .integer($0) } ?? .null,
        ]
    }
}

extension Campaign {
    /// As the API tells it.
    var json: JSONValue {
        let head: [JSONMember] = [
            JSONMember("id", .string(id.description)), JSONMember("state", .string(state.rawValue)),
            JSONMember("version", .integer(version)),
        ]
        let times: [JSONMember] = [
            JSONMember("startsAt", .optional(startsAt?.rfc3339)), JSONMember("localTime", .optional(localTime)),
            JSONMember("startedAt", .optional(startedAt?.rfc3339)), JSONMember("endedAt", .optional(endedAt?.rfc3339)),
            JSONMember("users", users.map { .integer($0) } ?? .null), JSONMember("batchRef", .string(id.source)),
            JSONMember("createdBy", .string(createdBy)), JSONMember("createdAt", .string(createdAt.rfc3339)),
            JSONMember("updatedAt", .string(updatedAt.rfc3339)),
        ]
        return .object(head + (content.json.members ?? []) + times)
    }
}
