import Kernel
import Testing

@testable import PushSimulator

struct FaultPlanTests {
    @Test func `a rule is read with all its members`() throws {
        let rule = try FaultRule(
            json: JSONValue(
                parsing: #"""
                    {"action":"refuse","status":410,"reason":"Unregistered","timestamp":1790000000123,"retryAfter":7,
                     "token":"aa","count":3,"fraction":0.5,"delayMs":20,"streams":1}
                    """#
            )
        )
        let action = FaultRule.Action.refuse(
            status: 410,
            reason: "Unregistered",
            timestamp: 1_790_000_000_123,
            retryAfter: 7
        )
        let expected = FaultRule(
            action,
            token: "aa",
            remaining: 3,
            fraction: 0.5,
            delay: .milliseconds(20),
            streamLimit: 1
        )
        #expect(rule == expected)
    }

    @Test(
        arguments: [
            (#"{"status":500,"reason":"X"}"#, .refuse(status: 500, reason: "X", timestamp: nil, retryAfter: nil)),
            (#"{"delayMs":5}"#, .accept), (#"{"action":"hang"}"#, .hang),
            (#"{"action":"drop","accepted":false}"#, .drop),
            (#"{"action":"reset"}"#, .reset(errorCode: 7)),
            (#"{"action":"goaway","reason":"Shutdown"}"#, .goAway(lastStreamID: nil, errorCode: 0, reason: "Shutdown")),
            (#"{"action":"goaway","lastStreamId":9}"#, .goAway(lastStreamID: 9, errorCode: 0, reason: nil)),
        ] as [(String, FaultRule.Action)]
    )
    func `the action follows from what is given`(_ json: String, _ action: FaultRule.Action) throws {
        #expect(try FaultRule(json: JSONValue(parsing: json)).action == action)
    }

    @Test(arguments: [
        "[]", #"{"stauts":500}"#, #"{"status":500}"#, #"{"status":200,"reason":"x"}"#, #"{"status":99,"reason":"x"}"#,
        #"{"action":"explode"}"#, #"{"fraction":2}"#, #"{"count":0}"#, #"{"token":""}"#, #"{"delayMs":"5"}"#,
    ])
    func `a rule that makes no sense is refused`(_ json: String) throws {
        let value = try JSONValue(parsing: json)
        #expect(throws: FaultRuleError.self) { try FaultRule(json: value) }
    }

    @Test func `a rule strikes whom it names, as often as it says`() {
        let plan = FaultPlan()
        #expect(plan.add([FaultRule(.hang, token: "aa", remaining: 2), FaultRule(.drop, tokenPrefix: "bb")]))
        #expect(plan.strike(token: "cc") == nil)
        #expect(plan.strike(token: "aa")?.action == .hang)
        #expect(plan.strike(token: "aa")?.action == .hang)
        #expect(plan.strike(token: "aa") == nil)
        #expect(plan.strike(token: "bbcc")?.action == .drop)
        plan.clear()
        #expect(plan.strike(token: "bbcc") == nil)
    }

    @Test(arguments: [(0.0, 0), (0.01, 10), (0.5, 500), (1.0, 1000)])
    func `a fraction is exact and even`(_ fraction: Double, _ count: Int) {
        let plan = FaultPlan()
        #expect(plan.add([FaultRule(.hang, fraction: fraction)]))
        #expect((0..<1000).count { _ in plan.strike(token: "aa") != nil } == count)
    }

    @Test func `the number of rules is bounded`() {
        let plan = FaultPlan()
        #expect(plan.add(Array(repeating: FaultRule(.hang), count: 1000)))
        #expect(!plan.add([FaultRule(.hang)]))
    }
}
