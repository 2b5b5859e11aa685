import Foundation
import Testing
import VarselKit

/// A place with its clock.
struct Spot: Sendable, CustomTestStringConvertible {
    let name: String
    let place: Place
    let zone: TimeZone

    init(_ name: String, _ latitude: Double, _ longitude: Double, _ zone: String) {
        self.name = name
        self.place = Place(latitude: latitude, longitude: longitude) ?? Place(latitude: 0, longitude: 0)!
        self.zone = TimeZone(identifier: zone)!
    }

    var testDescription: String { name }

    static let oslo = Spot("Oslo", 59.91, 10.75, "Europe/Oslo")
    static let all = [
        oslo, Spot("Quito", -0.18, -78.47, "America/Guayaquil"), Spot("Tromsø", 69.65, 18.96, "Europe/Oslo"),
        Spot("Kiritimati", 1.87, -157.4, "Pacific/Kiritimati"), Spot("Pago Pago", -14.28, -170.7, "Pacific/Pago_Pago"),
        Spot("Kashgar", 39.47, 75.99, "Asia/Shanghai"), Spot("Apia", -13.83, -171.77, "Pacific/Apia"),
        Spot("Sydney", -33.87, 151.21, "Australia/Sydney"), Spot("New York", 40.71, -74.0, "America/New_York"),
        Spot("South Pole", -90, 0, "Antarctica/McMurdo"), Spot("Longyearbyen", 78.22, 15.65, "Arctic/Longyearbyen"),
        Spot("Chatham", -43.95, -176.55, "Pacific/Chatham"), Spot("elsewhere", 35.7, 139.7, "America/Los_Angeles"),
    ]
}

struct WindowPlannerTests {
    private let planner = WindowPlanner()
    private let all: Set<String> = ["morning", "midday", "evening"]
    /// 2026-12-02 04:00 UTC
    private let now = Date(timeIntervalSince1970: 1_796_184_000)

    private func settings(_ spot: Spot = .oslo, enabled: Set<String>? = nil, completed: Set<WindowOccurrence> = [])
        -> WindowSettings
    {
        WindowSettings(enabled: enabled ?? all, completed: completed, place: spot.place, zone: spot.zone)
    }

    private func plan(_ settings: WindowSettings, at now: Date, pending: [PendingRequest] = []) -> WindowPlan {
        planner.plan(settings, now: now, pending: pending, languages: ["en"])
    }

    /// What the system holds after a plan was carried out.
    private func pending(_ plan: WindowPlan, after pending: [PendingRequest] = []) -> [PendingRequest] {
        let gone = Set(plan.removes + plan.adds.map(\.identifier))
        return pending.filter { !gone.contains($0.identifier) }
            + plan.adds.map {
                PendingRequest(identifier: $0.identifier, fireDate: $0.fireDate, title: $0.title, body: $0.body)
            }
    }

    private func others(_ count: Int) -> [PendingRequest] {
        (0..<count).map { PendingRequest(identifier: "other.\($0)", fireDate: nil, title: "", body: "") }
    }

    @Test func `three windows fill twenty-one days, fewer when others hold requests (I4)`() {
        #expect(plan(settings(), at: now).adds.count == 63)
        #expect(plan(settings(), at: now, pending: others(10)).adds.count == 54)
        #expect(plan(settings(), at: now, pending: others(62)).adds.map(\.occurrence.window) == ["morning", "midday"])
        #expect(plan(settings(), at: now, pending: others(64)).adds.isEmpty)
        #expect(plan(settings(enabled: ["midday"]), at: now).adds.count == 64)
    }

    @Test func `a window that is off or done is left out, the next day's is not (I4)`() throws {
        let today = try #require(LocalDate("2026-12-02"))
        let done = WindowOccurrence(window: "midday", date: today)
        let names = plan(settings(enabled: ["midday", "evening"], completed: [done]), at: now).adds.map(\.identifier)
        #expect(names.prefix(2) == ["varsel.window.evening.2026-12-02", "varsel.window.midday.2026-12-03"])
        #expect(!names.contains { $0.contains("morning") })
    }

    @Test func `without a place nothing is planned and nothing stale stays (I4)`() {
        var settings = settings()
        let before = pending(plan(settings, at: now)) + others(2)
        settings.place = nil
        let after = plan(settings, at: now, pending: before)
        #expect(after.removes.count == 63)
        #expect(pending(after, after: before).map(\.identifier) == ["other.0", "other.1"])
    }

    @Test func `a window is not announced again after a move to where it opens later (I4)`() throws {
        let tokyo = Spot("Tokyo", 35.68, 139.69, "Asia/Tokyo")
        // 2026-12-02 00:00 UTC: the morning window has opened in Tokyo, and opens in Oslo later on the same date.
        let then = Date(timeIntervalSince1970: 1_796_169_600)
        let first = plan(settings(tokyo), at: then.addingTimeInterval(-10_800))
        let record = PlanRecord(settings(tokyo), plan: first, now: then.addingTimeInterval(-10_800), languages: ["en"])
        var moved = settings(.oslo)
        moved.announced = record.announced(by: then)
        #expect(moved.announced.map(\.window) == ["morning"])
        let second = plan(moved, at: then, pending: pending(first))
        #expect(second.requests.first?.identifier == "varsel.window.midday.2026-12-02")
        // And a third plan, made from the second's record, still knows.
        let kept = PlanRecord(moved, plan: second, now: then, languages: ["en"])
        #expect(kept.announced(by: then).contains { $0.window == "morning" })
    }

    @Test(arguments: UInt64(1)...120)
    func `a plan never holds more than 64, nothing past, everything due and nothing stale (I4)`(seed: UInt64) {
        var random = Seeded(seed)
        var held = others(Int.random(in: 0...70, using: &random))
        let foreign = held
        var now = Date(
            timeIntervalSince1970: Double.random(in: 1_700_000_000...1_900_000_000, using: &random).rounded()
        )
        for _ in 0..<4 {
            let spot = Spot.all.randomElement(using: &random) ?? .oslo
            let enabled = all.filter { _ in Bool.random(using: &random) }
            var settings = settings(spot, enabled: enabled)
            let today = LocalDate(of: now, in: spot.zone)
            for window in all where Bool.random(using: &random) {
                settings.completed.insert(WindowOccurrence(window: window, date: today))
            }
            let plan = plan(settings, at: now, pending: held)
            held = pending(plan, after: held)
            #expect(held.count <= max(64, foreign.count), "seed \(seed)")
            #expect(held.filter { !$0.identifier.hasPrefix("varsel.window.") } == foreign, "seed \(seed)")
            #expect(Set(held.map(\.identifier)).count == held.count, "seed \(seed)")
            #expect(plan.requests.allSatisfy { $0.fireDate > now }, "seed \(seed)")
            // Nothing stale: what is pending is what this plan wants.
            let ours = held.filter { $0.identifier.hasPrefix("varsel.window.") }
            #expect(Set(ours.map(\.identifier)) == Set(plan.requests.map(\.identifier)), "seed \(seed)")
            // Everything that opens by the last planned moment is there once, unless it is off or done.
            if let last = plan.requests.last?.fireDate {
                var due: Set<String> = []
                for day in -1...70 {
                    let sun = SunTimes(on: today.adding(day), at: spot.place, in: spot.zone)
                    for window in SolarWindow.standard where enabled.contains(window.id) {
                        let occurrence = WindowOccurrence(window: window.id, date: sun.date)
                        if let start = window.opening(on: sun)?.start, start > now, start <= last,
                            !settings.completed.contains(occurrence)
                        {
                            due.insert(occurrence.identifier)
                        }
                    }
                }
                #expect(due == Set(ours.map(\.identifier)), "seed \(seed) at \(spot.name)")
            }
            let again = self.plan(settings, at: now, pending: held)
            #expect(again.isSettled, "a second plan changes nothing, seed \(seed)")
            now.addTimeInterval(Double.random(in: 60...5 * 86_400, using: &random).rounded())
            // What has fired is no longer pending.
            held.removeAll { $0.fireDate.map { $0 <= now } ?? false }
        }
    }

    @Test(arguments: Spot.all)
    func `every window comes at most once a local day, and noon lies on its day's clock (I4)`(spot: Spot) {
        var last: Date?
        for day in 20_400..<20_800 {
            let date = LocalDate(day: day)
            guard let noon = SunTimes(on: date, at: spot.place, in: spot.zone).moment(.noon) else {
                Issue.record("there is a noon every day")
                return
            }
            // Twelve hours and what summer time and the equation of time add.
            let clockNoon = Double(day) * 86_400 + 43_200 - Double(spot.zone.secondsFromGMT(for: noon))
            #expect(abs(noon.timeIntervalSince1970 - clockNoon) < 43_200 + 4600)
            if let last { #expect(abs(noon.timeIntervalSince(last) - 86_400) < 60) }
            last = noon
        }
    }

    @Test func `days of 23 and 25 hours and the date line keep one window a day (I4)`() {
        for (spot, date) in [
            (Spot.oslo, "2026-03-29"), (Spot.oslo, "2026-10-25"), (Spot.all[3], "2026-12-31"),
            (Spot.all[4], "2026-12-31"),
        ] {
            guard let date = LocalDate(date) else { return #expect(Bool(false)) }
            for window in SolarWindow.standard {
                let sun = SunTimes(on: date, at: spot.place, in: spot.zone)
                let start = window.opening(on: sun)?.start
                #expect(start.map { LocalDate(of: $0, in: spot.zone) } == date)
            }
        }
    }

    @Test func `in polar day and night only noon's window opens (I4)`() throws {
        let place = try #require(Place(latitude: 78.22, longitude: 15.65))
        for date in ["2026-06-21", "2026-12-21"] {
            let sun = SunTimes(on: try #require(LocalDate(date)), at: place, in: Spot.oslo.zone)
            #expect(SolarWindow.standard.map { $0.opening(on: sun) != nil } == [false, true, false])
        }
    }

    @Test func `the plan is made again for each reason, and for none when nothing changed (I4)`() throws {
        let rule = ReplanRule()
        let before = settings()
        let record = PlanRecord(before, plan: plan(before, at: now), now: now, languages: ["en"])
        func reasons(_ settings: WindowSettings, _ time: TimeInterval = 60, _ languages: [String] = ["en"]) -> Set<
            ReplanRule.Reason
        > {
            rule.reasons(since: record, settings, now: now.addingTimeInterval(time), languages: languages)
        }
        #expect(rule.reasons(since: nil, before, now: now, languages: ["en"]) == [.first])
        #expect(reasons(before).isEmpty)
        var near = before
        near.place = Place(latitude: 59.95, longitude: 10.8)
        #expect(reasons(near).isEmpty)
        var far = before
        far.place = Place(latitude: 60.39, longitude: 5.32)
        #expect(reasons(far) == [.moved])
        far.place = nil
        #expect(reasons(far) == [.moved])
        #expect(reasons(before, 20 * 3600) == [.newDay])
        #expect(reasons(before, -1) == [.clockSetBack])
        #expect(reasons(before, 60, ["nb"]) == [.language])
        #expect(reasons(settings(enabled: ["midday"])) == [.settings])
        var zone = before
        zone.zone = try #require(TimeZone(identifier: "Europe/Helsinki"))
        #expect(reasons(zone) == [.zone])
        let again = try JSONDecoder().decode(PlanRecord.self, from: JSONEncoder().encode(record))
        #expect(again == record)
    }

    @Test func `a tap leads to the marking screen of its window, and to nothing else (I4)`() throws {
        let request = try #require(plan(settings(), at: now).adds.first)
        let userInfo: [AnyHashable: Any] = request.occurrence.userInfo
        #expect(userInfo.count == 2)
        let tapped = try #require(WindowOccurrence(userInfo: userInfo))
        #expect(tapped == request.occurrence)
        #expect(tapped.link == "im://window?id=morning&date=2026-12-02")
        for strange in [[:], ["varselWindow": "x"], ["varselWindow": "x", "varselDate": "2026-02-30"]]
            as [[AnyHashable: Any]]
        {
            #expect(WindowOccurrence(userInfo: strange) == nil)
        }
    }

    @Test func `permission is explained before it is asked, and denied leads to the clock with a way out (I4)`() {
        #expect(WindowScreen(permission: .notDetermined, wasExplained: false) == .clock(.explain))
        #expect(WindowScreen(permission: .notDetermined, wasExplained: true) == .clock(.ask))
        #expect(WindowScreen(permission: .denied, wasExplained: true) == .clock(.openSystemSettings))
        #expect(WindowScreen(permission: .granted, wasExplained: true) == .planned)
    }

    @Test func `the clock shows what is open and what opens next (I4)`() throws {
        let noon = Date(timeIntervalSince1970: 1_796_211_000)
        let clock = WindowClock(SolarWindow.standard, settings(), now: noon)
        #expect(clock.open.map(\.occurrence.window).contains("midday"))
        let next = try #require(clock.next)
        #expect(next.interval.start > noon)
        #expect(WindowClock(SolarWindow.standard, settings(enabled: []), now: now).next?.occurrence.window == "morning")
    }

    @Test func `a window's text says that it is open in sixteen languages, and claims nothing (I4)`() {
        for text in [LocalizedText.morningWindow, .middayWindow, .eveningWindow, .windowIsOpen] {
            let words = LocalizedText.languages.map { text.text(preferring: [$0]) }
            #expect(words.allSatisfy { !$0.isEmpty && !$0.contains("!") && $0.count < 40 })
            #expect(words.dropFirst().allSatisfy { $0 != words[0] })
        }
    }

    @Test func `dates are days of the calendar`() {
        for day in stride(from: -800_000, through: 800_000, by: 997) {
            let date = LocalDate(day: day)
            let (year, month, dayOfMonth) = date.parts
            #expect(LocalDate(year: year, month: month, day: dayOfMonth) == date)
        }
        #expect(LocalDate("2026-12-02")?.day == 20_789)
        #expect(LocalDate("2024-02-29") != nil)
        for bad in ["2026-02-29", "2026-1-02", "20261202", "", "2026-12-02x", "+026-12-02"] {
            #expect(LocalDate(bad) == nil)
        }
    }
}
