import Kernel
import Observability
import Testing

struct LoggerTests {
    private let clock = FixedWallClock(Timestamp(milliseconds: 1_790_000_000_123))

    @Test func `a line is one JSON object with time, level, service, message, context and fields`() throws {
        let sink = MemorySink()
        let logger = Logger(service: "gateway", sink: sink, clock: clock).with(["request_id": "r1"])
        logger.info("request served", ["status": 202, "path": .string("a\n\"b\"")])
        #expect(
            sink.lines == [
                #"{"time":"2026-09-21T14:13:20.123Z","level":"info","service":"gateway","message":"request served","#
                    + #""request_id":"r1","status":202,"path":"a\n\"b\""}"#
            ]
        )
    }

    @Test func `lines below the level are not written`() {
        let sink = MemorySink()
        let logger = Logger(service: "x", level: .warning, sink: sink, clock: clock)
        logger.debug("a")
        logger.info("b")
        logger.warning("c")
        logger.error("d")
        #expect(sink.lines.count == 2)
    }

    @Test(arguments: [("a1b2c3d4e5f6", "a1b2c3d4…"), ("short", "short")])
    func `tokens are shortened beyond use`(token: String, shown: String) {
        #expect(token.shortened == shown)
    }
}
