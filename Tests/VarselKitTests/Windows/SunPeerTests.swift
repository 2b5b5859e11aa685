import Foundation
import Testing
import VarselKit

/// Sun times beside PyPI's astral 3.2, and ephem 4.2.1 where astral has no answer, from 50 places of the whole Earth on 24 dates.
struct SunPeerTests {
    private struct Answer: Decodable {
        let errors: [Double]
        let judged: Int
        let disagreements: [String]
    }

    /// All answers together.
    private struct Verdict {
        var worst = 0.0
        var compared = 0
        var judged = 0
        var disagreements: [String] = []
    }

    private static let latitudes: [Double] = [
        0, 10, -10, 25, -25, 35, -35, 45, -45, 52, -52, 58, -58, 62, -62, 65, -65,
    ]
    private static let polar: [Double] = [68, -68, 72, -72, 78, -78, 85, -85, 90, -90]

    /// Two dates a month, of two years.
    private static var dates: [LocalDate] {
        (1...12).flatMap { month in
            [LocalDate(year: 2026, month: month, day: 5), LocalDate(year: 2031, month: month, day: 20)]
        }
    }

    private func answers(_ cases: [(Place, LocalDate)]) throws -> [Answer] {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["VARSEL_CACHE"] ?? (environment["HOME"] ?? "/root") + "/.cache/varsel"
        let python = URL(filePath: cache).appending(path: "peers/astral-3.2+ephem-4.2.1/bin/python")
        guard FileManager.default.isExecutableFile(atPath: python.path) else {
            throw PeerError(description: "\(python.path) is missing: run ./scripts/peers")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "varsel-sun-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let input = folder.appending(path: "in")
        let output = folder.appending(path: "out")
        let utc = try #require(TimeZone(secondsFromGMT: 0))
        let lines = cases.map { place, date in
            let sun = SunTimes(on: date, at: place, in: utc)
            let times = [SunMoment.sunrise, .sunset]
                .map { moment in sun.moment(moment).map { String($0.timeIntervalSince1970) } ?? "-" }
            return "\(place.latitude) \(place.longitude) \(date) \(times[0]) \(times[1])\n"
        }
        .joined()
        try Data(lines.utf8).write(to: input)
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        let process = Process()
        process.executableURL = python
        process.arguments = [Repository.root.appending(path: "Tests/VarselKitTests/Peers/sun.py").path]
        process.standardInput = try FileHandle(forReadingFrom: input)
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw PeerError(description: "sun.py failed") }
        return try String(contentsOf: output, encoding: .utf8).split(separator: "\n")
            .map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
    }

    private func cases(_ latitudes: [Double]) throws -> [(Place, LocalDate)] {
        try latitudes.enumerated().flatMap { index, latitude in
            let longitudes = index % 2 == 0 ? [-179.5, -75, 10.75] : [-120, 30, 178]
            return try longitudes.flatMap { longitude in
                let place = try #require(Place(latitude: latitude, longitude: longitude))
                return Self.dates.map { (place, $0) }
            }
        }
    }

    private func verdict(_ cases: [(Place, LocalDate)]) throws -> Verdict {
        let answers = try answers(cases)
        #expect(answers.count == cases.count)
        return answers.reduce(into: Verdict()) { verdict, answer in
            verdict.worst = max(verdict.worst, answer.errors.max() ?? 0)
            verdict.compared += answer.errors.count
            verdict.judged += answer.judged
            verdict.disagreements += answer.disagreements
        }
    }

    @Test func `sun times lie within a minute of astral's up to 65 degrees (I4)`() throws {
        let cases = try cases(Self.latitudes)
        #expect(cases.count == 51 * 24)
        let verdict = try verdict(cases)
        #expect(verdict.disagreements.isEmpty)
        #expect(verdict.compared == cases.count * 2)
        #expect(verdict.worst <= 60)
        #expect(verdict.judged <= 10, "astral leaves out few")
    }

    @Test func `beyond, they lie within five minutes, or both have none (I4)`() throws {
        let verdict = try verdict(cases(Self.polar))
        #expect(verdict.disagreements.isEmpty, "\(verdict.disagreements)")
        #expect(verdict.compared > 200)
        #expect(verdict.worst <= 300)
        #expect(verdict.judged <= 30, "astral decides most")
    }
}

private struct PeerError: Error, CustomStringConvertible {
    let description: String
}
