import Foundation
import VarselKit

/// Time to plan the windows of 21 days anew after a move, and the distance of sun times to astral's.
struct KitBench {
    private struct Answer: Decodable {
        let errors: [Double]
        let judged: Int
        let disagreements: [String]
    }

    let environment: [String: String]

    func run() throws {
        let milliseconds = try replans()
        let near = try errors([0, 10, -10, 25, -25, 35, -35, 45, -45, 52, -52, 58, -58, 62, -62, 65, -65])
        let polar = try errors([68, -68, 72, -72, 78, -78, 85, -85, 90, -90])
        print("figures:")
        print("replan_ms_p99 \(rounded(milliseconds)) ms")
        print("solar_max_error_s \(rounded(near.worst)) s")
        print("solar_max_error_polar_s \(rounded(polar.worst)) s")
        print("solar_only_one_has_it \(near.disagreements + polar.disagreements) cases")
        print("solar_judged_by_ephem \(near.judged + polar.judged) cases")
    }

    private func rounded(_ value: Double) -> String { String(format: "%.3f", value) }

    /// The 99th percentile in milliseconds.
    private func replans() throws -> Double {
        guard let oslo = Place(latitude: 59.91, longitude: 10.75), let bergen = Place(latitude: 60.39, longitude: 5.32),
            let zone = TimeZone(identifier: "Europe/Oslo")
        else { throw BenchError(description: "no place or zone") }
        let planner = WindowPlanner()
        let now = Date(timeIntervalSince1970: 1_796_184_000)
        func settings(_ place: Place) -> WindowSettings {
            WindowSettings(enabled: ["morning", "midday", "evening"], place: place, zone: zone)
        }
        let first = planner.plan(settings(oslo), now: now, pending: [], languages: ["nb"])
        let pending = first.requests.map {
            PendingRequest(identifier: $0.identifier, fireDate: $0.fireDate, title: $0.title, body: $0.body)
        }
        let count = environment["BENCH_PLANS"].flatMap(Int.init) ?? 1000
        var times: [Double] = []
        for _ in 0..<max(100, count) {
            let start = ContinuousClock.now
            let plan = planner.plan(settings(bergen), now: now, pending: pending, languages: ["nb"])
            let time = ContinuousClock.now - start
            guard plan.adds.count == 63 else { throw BenchError(description: "\(plan.adds.count) moved, not 63") }
            times.append(Double(time.components.seconds) * 1000 + Double(time.components.attoseconds) / 1e15)
        }
        times.sort()
        return times[times.count * 99 / 100]
    }

    /// The largest distance in seconds, and how often only one side has the sun there.
    private func errors(_ latitudes: [Double]) throws -> (worst: Double, disagreements: Int, judged: Int) {
        guard let python = environment["BENCH_PYTHON"], let peer = environment["BENCH_PEER"],
            let utc = TimeZone(secondsFromGMT: 0)
        else { throw BenchError(description: "BENCH_PYTHON and BENCH_PEER must be set") }
        var cases: [(Place, LocalDate)] = []
        for (index, latitude) in latitudes.enumerated() {
            for longitude in index % 2 == 0 ? [-179.5, -75, 10.75] : [-120, 30, 178] {
                guard let place = Place(latitude: latitude, longitude: longitude) else { continue }
                for month in 1...12 {
                    cases.append((place, LocalDate(year: 2026, month: month, day: 5)))
                    cases.append((place, LocalDate(year: 2031, month: month, day: 20)))
                }
            }
        }
        let input = cases.map { place, date in
            let sun = SunTimes(on: date, at: place, in: utc)
            let times = [sun.moment(.sunrise), sun.moment(.sunset)]
                .map { $0.map { String($0.timeIntervalSince1970) } ?? "-" }
            return "\(place.latitude) \(place.longitude) \(date) \(times[0]) \(times[1])\n"
        }
        .joined()
        let answers = try answers(input, python, peer)
        guard answers.count == cases.count else {
            throw BenchError(description: "astral answered \(answers.count) cases")
        }
        return (
            answers.flatMap(\.errors).max() ?? 0, answers.reduce(0) { $0 + $1.disagreements.count },
            answers.reduce(0) { $0 + $1.judged }
        )
    }

    private func answers(_ input: String, _ python: String, _ peer: String) throws -> [Answer] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-kit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (from, to) = (folder.appendingPathComponent("in"), folder.appendingPathComponent("out"))
        try Data(input.utf8).write(to: from)
        try Data().write(to: to)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = [peer]
        process.standardInput = try FileHandle(forReadingFrom: from)
        process.standardOutput = try FileHandle(forWritingTo: to)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchError(description: "the peer failed") }
        return try String(contentsOf: to, encoding: .utf8).split(separator: "\n")
            .map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
    }
}
