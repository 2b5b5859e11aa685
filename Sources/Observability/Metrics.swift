import Synchronization

/// A number that only grows, named `…_total`.
package final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    package func increment(by amount: Int = 1) {
        value.wrappingAdd(amount, ordering: .relaxed)
    }

    package var current: Int { value.load(ordering: .relaxed) }
}

/// A number that goes up and down.
package final class Gauge: Sendable {
    private let value = Mutex<Double>(0)

    package init() {}

    package func set(_ newValue: Double) {
        value.withLock { $0 = newValue }
    }

    package func add(_ amount: Double) {
        value.withLock { $0 += amount }
    }

    package var current: Double { value.withLock { $0 } }
}

/// A distribution over fixed buckets, in base units (seconds, bytes).
package final class Histogram: Sendable {
    /// Buckets for the duration of requests, in seconds: 1 ms to 10 s.
    package static let durations: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    package struct Snapshot: Sendable {
        /// Observations in each bucket alone, the last one being above every bound.
        package var counts: [Int]
        package var sum: Double
    }

    package let bounds: [Double]
    private let state: Mutex<Snapshot>

    package init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(Snapshot(counts: Array(repeating: 0, count: bounds.count + 1), sum: 0))
    }

    package func observe(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    package func observe(_ duration: Duration) {
        // Not through `components`, whose two divisions of 128 bits cost more than the rest.
        observe(Double(duration.attoseconds) / 1e18)
    }

    package var snapshot: Snapshot { state.withLock { $0 } }
}

/// Every metric of a process. Families are made once; hold the returned handle and use it without a look-up.
package final class MetricsRegistry: Sendable {
    enum Series: Sendable {
        case counter(Counter)
        case gauge(Gauge)
        case computed(@Sendable () -> Double)
        case histogram(Histogram)
    }

    struct Family: Sendable {
        let help: String
        let type: String
        var series: [String: Series] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    package init() {}

    /// The counter of a family with these labels, made on first use.
    ///
    /// Label values must come from a small fixed set: never a user id, a token or a raw path.
    package func counter(_ name: String, help: String, labels: [(String, String)] = []) -> Counter {
        let series = series(name, help: help, type: "counter", labels: labels) { .counter(Counter()) }
        guard case .counter(let counter) = series else { preconditionFailure("\(name) is no counter") }
        return counter
    }

    /// The gauge of a family with these labels, made on first use.
    package func gauge(_ name: String, help: String, labels: [(String, String)] = []) -> Gauge {
        let series = series(name, help: help, type: "gauge", labels: labels) { .gauge(Gauge()) }
        guard case .gauge(let gauge) = series else { preconditionFailure("\(name) is no gauge") }
        return gauge
    }

    /// A gauge whose value is asked for when the metrics are read.
    package func gauge(
        _ name: String,
        help: String,
        labels: [(String, String)] = [],
        reading: @escaping @Sendable () -> Double
    ) {
        _ = series(name, help: help, type: "gauge", labels: labels) { .computed(reading) }
    }

    /// The histogram of a family with these labels, made on first use.
    package func histogram(
        _ name: String,
        help: String,
        labels: [(String, String)] = [],
        bounds: [Double] = Histogram.durations
    ) -> Histogram {
        let series = series(name, help: help, type: "histogram", labels: labels) {
            .histogram(Histogram(bounds: bounds))
        }
        guard case .histogram(let histogram) = series else { preconditionFailure("\(name) is no histogram") }
        return histogram
    }

    private func series(
        _ name: String,
        help: String,
        type: String,
        labels: [(String, String)],
        make: () -> Series
    ) -> Series {
        let key = Self.render(labels)
        return families.withLock { families in
            var family = families[name] ?? Family(help: help, type: type)
            precondition(family.type == type, "\(name) was registered as \(family.type)")
            defer { families[name] = family }
            if let found = family.series[key] { return found }
            let made = make()
            family.series[key] = made
            return made
        }
    }

    /// Every metric in the Prometheus text format, version 0.0.4.
    package func render() -> String {
        let families = self.families.withLock { $0 }
        var output = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            output += "# HELP \(name) \(Self.escape(family.help, quotes: false))\n# TYPE \(name) \(family.type)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                Self.render(series, name: name, labels: labels, into: &output)
            }
        }
        return output
    }

    private static func render(_ series: Series, name: String, labels: String, into output: inout String) {
        func line(_ name: String, _ labels: String, _ value: String) {
            output += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
        }
        switch series {
        case .counter(let counter): line(name, labels, String(counter.current))
        case .gauge(let gauge): line(name, labels, number(gauge.current))
        case .computed(let reading): line(name, labels, number(reading()))
        case .histogram(let histogram):
            let snapshot = histogram.snapshot
            let prefix = labels.isEmpty ? "" : labels + ","
            var total = 0
            for (bound, count) in zip(histogram.bounds, snapshot.counts) {
                total += count
                line(name + "_bucket", prefix + "le=\"\(number(bound))\"", String(total))
            }
            total += snapshot.counts[histogram.bounds.count]
            line(name + "_bucket", prefix + "le=\"+Inf\"", String(total))
            line(name + "_sum", labels, number(snapshot.sum))
            line(name + "_count", labels, String(total))
        }
    }

    private static func number(_ value: Double) -> String {
        value.rounded() == value && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }

    private static func render(_ labels: [(String, String)]) -> String {
        labels.map { "\($0.0)=\"\(escape($0.1, quotes: true))\"" }.joined(separator: ",")
    }

    private static func escape(_ text: String, quotes: Bool) -> String {
        var output = ""
        for character in text {
            switch character {
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\"" where quotes: output += "\\\""
            default: output.append(character)
            }
        }
        return output
    }
}
