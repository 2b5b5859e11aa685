import Observability
import Testing

struct MetricsTests {
    @Test func `metrics are written in the Prometheus text format`() {
        let registry = MetricsRegistry()
        registry.counter("sent_total", help: "Sent.", labels: [("category", "reminder")]).increment(by: 3)
        registry.counter("sent_total", help: "Sent.", labels: [("category", "reminder")]).increment()
        registry.gauge("depth", help: "A \\ and\na line.").set(1.5)
        registry.gauge("live", help: "Asked for when read.") { 7 }
        let histogram = registry.histogram("seconds", help: "Time.", bounds: [0.1, 1])
        for value in [0.05, 0.1, 0.5, 3] { histogram.observe(value) }
        #expect(
            registry.render() == """
                # HELP depth A \\\\ and\\na line.
                # TYPE depth gauge
                depth 1.5
                # HELP live Asked for when read.
                # TYPE live gauge
                live 7
                # HELP seconds Time.
                # TYPE seconds histogram
                seconds_bucket{le="0.1"} 2
                seconds_bucket{le="1"} 3
                seconds_bucket{le="+Inf"} 4
                seconds_sum 3.65
                seconds_count 4
                # HELP sent_total Sent.
                # TYPE sent_total counter
                sent_total{category="reminder"} 4

                """
        )
    }

    @Test func `label values are escaped`() {
        let registry = MetricsRegistry()
        registry.counter("x_total", help: "X.", labels: [("reason", "a\"b\\c\nd")]).increment()
        #expect(registry.render().contains(#"x_total{reason="a\"b\\c\nd"} 1"#))
    }

    @Test func `counting from many tasks loses nothing`() async {
        let registry = MetricsRegistry()
        let counter = registry.counter("n_total", help: "N.")
        let gauge = registry.gauge("g", help: "G.")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.increment()
                        gauge.add(1)
                    }
                }
            }
        }
        #expect(counter.current == 8000)
        #expect(gauge.current == 8000)
    }

    @Test func `health is ready when every condition holds`() {
        let board = HealthBoard()
        #expect(board.isReady)
        board.set("redis", problem: "connection refused")
        board.set("database", problem: nil)
        #expect(!board.isReady)
        #expect(board.problems.map(\.name) == ["redis"])
        board.set("redis", problem: nil)
        #expect(board.isReady)
    }
}
