import Kernel
import RateLimiter
import RedisClient
import Testing

struct WeeklyLimiterTests {
    static let layouts: [KeyLayout] = [.standalone, .cluster]

    @Test(arguments: layouts)
    func `a category's cap and the global cap both hold, judged in order`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            let results = await fixture.limiter.take([
                fixture.request("m1", cap: 2, global: 3),
                fixture.request("n1", user: 1, cap: 1),
                fixture.request("m2", cap: 2, global: 3),
                fixture.request("m3", cap: 2, global: 3),
                fixture.request("m4", category: "campaign", cap: 5, global: 3),
                fixture.request("m5", category: "campaign", cap: 5, global: 3),
                fixture.request("m6", category: "lifecycle", cap: 5, global: nil),
                fixture.request("n2", user: 1, cap: 1),
            ])
            #expect(
                results == [
                    .taken, .taken, .taken, .refused(.category), .taken, .refused(.global), .taken, .refused(.category),
                ]
            )
            let usage = try await fixture.usage()
            #expect(usage == SlotUsage(categories: ["reminder": 2, "campaign": 1, "lifecycle": 1], global: 3))
        }
    }

    @Test(arguments: layouts)
    func `keys are named as agreed, hold message id and time, and live eight days`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            #expect(await fixture.limiter.take([fixture.request("m1")]) == [.taken])
            for kind in ["reminder", "global"] {
                let fields = try await fixture.command("HGETALL", fixture.key(kind)).requireFields("hash")
                #expect(Array(fields.keys) == ["m1"])
                #expect(fields["m1"].flatMap { Int64($0) } ?? 0 > 1_700_000_000_000)
                let life = try await fixture.command("PTTL", fixture.key(kind)).requireInt("PTTL")
                #expect((8 * 86_400_000 - 60_000...8 * 86_400_000).contains(life))
            }
        }
    }

    @Test(arguments: layouts)
    func `a message takes one slot however often it asks, also when none is left`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            let request = fixture.request("m1")
            #expect(await fixture.limiter.take([request, request]) == [.taken, .alreadyTaken])
            #expect(await fixture.limiter.take([request]) == [.alreadyTaken])
            let usage = try await fixture.usage()
            #expect(usage.global == 1)
        }
    }

    @Test(arguments: layouts)
    func `a refusal by the global cap takes nothing of the category`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            _ = await fixture.limiter.take([fixture.request("m1", category: "campaign", global: 1)])
            #expect(await fixture.limiter.take([fixture.request("m2", global: 1)]) == [.refused(.global)])
            let usage = try await fixture.usage()
            #expect(usage.categories["reminder"] == 0)
        }
    }

    @Test(arguments: layouts)
    func `a slot given back is free again, once`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            let request = fixture.request("m1")
            _ = await fixture.limiter.take([request])
            let other = fixture.request("never")
            let given = try await fixture.giveBack(request, request, other)
            #expect(given == [true, false, false])
            let usage = try await fixture.usage()
            #expect(usage.global == 0)
            #expect(await fixture.limiter.take([fixture.request("m2")]) == [.taken])
        }
    }

    @Test(arguments: layouts)
    func `weeks and users do not share slots`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            let results = await fixture.limiter.take([
                fixture.request("a"), fixture.request("b", week: "2026-W50"), fixture.request("c", user: 2),
            ])
            #expect(results == [.taken, .taken, .taken])
        }
    }

    @Test(arguments: layouts)
    func `by force a slot is taken above the caps, and still only once`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            _ = await fixture.limiter.take([fixture.request("m1")])
            let late = fixture.request("m2")
            #expect(await fixture.limiter.takeByForce([late, late]) == [.taken, .alreadyTaken])
            let usage = try await fixture.usage()
            #expect(usage == SlotUsage(categories: ["reminder": 2, "campaign": 0, "lifecycle": 0], global: 2))
        }
    }

    @Test(arguments: layouts)
    func `the plain counter of an older system counts as its number`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            _ = try await fixture.command("SET", fixture.key("campaign"), "2")
            _ = try await fixture.command("SET", fixture.key("global"), "3")
            #expect(
                try await fixture.usage()
                    == SlotUsage(
                        categories: ["reminder": 0, "campaign": 2, "lifecycle": 0],
                        global: 3
                    )
            )
            func campaign(_ message: String, _ cap: Int) -> SlotRequest {
                fixture.request(message, category: "campaign", cap: cap)
            }
            #expect(await fixture.limiter.take([campaign("a", 2)]) == [.refused(.category)])
            #expect(try await fixture.giveBack(campaign("a", 2)) == [false])
            #expect(await fixture.limiter.take([campaign("a", 3), campaign("b", 9)]) == [.taken, .refused(.global)])
            #expect(await fixture.limiter.take([campaign("a", 3)]) == [.alreadyTaken])
            #expect(try await fixture.giveBack(campaign("a", 3)) == [true])
            #expect(try await fixture.usage().categories["campaign"] == 2)
            #expect(try await fixture.usage().global == 3)
        }
    }

    @Test(arguments: ["text", "-4", "1e999", "nan"])
    func `a counter that is no sensible number is no error`(value: String) async throws {
        try await LimiterFixture.run(.standalone) { fixture in
            _ = try await fixture.command("SET", fixture.key("reminder"), .string(value))
            let first = await fixture.limiter.take([fixture.request("m1", cap: 1001)])
            #expect(first == [.taken])
            #expect(await fixture.limiter.take([fixture.request("m1", cap: 1001)]) == [.alreadyTaken])
        }
    }

    @Test func `a key of quite another type is left alone and does not count`() async throws {
        try await LimiterFixture.run(.standalone) { fixture in
            _ = try await fixture.command("RPUSH", fixture.key("reminder"), "x")
            #expect(await fixture.limiter.take([fixture.request("m1")]) == [.taken])
            #expect(try await fixture.command("LLEN", fixture.key("reminder")).int == 1)
            #expect(try await fixture.usage().global == 1)
        }
    }

    @Test(arguments: layouts)
    func `resetting forgets one user's slots`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            _ = await fixture.limiter.take([fixture.request("m1"), fixture.request("m2", user: 1)])
            try await fixture.limiter.reset(
                userID: "\(fixture.user)0",
                weekKeys: [LimiterFixture.week],
                categoryIDs: LimiterFixture.categories
            )
            #expect(try await fixture.usage().global == 0)
            #expect(try await fixture.usage(user: 1).global == 1)
        }
    }

    @Test(arguments: layouts)
    func `caps are exact when many take at once`(layout: KeyLayout) async throws {
        try await LimiterFixture.run(layout) { fixture in
            let taken = await withTaskGroup(of: Int.self) { group in
                for task in 0..<20 {
                    group.addTask {
                        let requests = (0..<30).map { fixture.request("\(task)-\($0)", user: $0, cap: 3, global: 2) }
                        return await fixture.limiter.take(requests).filter { $0 == .taken }.count
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(taken == 60)
        }
    }

    @Test func `more messages than one call holds are all answered`() async throws {
        try await LimiterFixture.run(.standalone) { fixture in
            let results = await fixture.limiter.take((0..<1201).map { fixture.request("m\($0)", user: $0) })
            #expect(results == Array(repeating: .taken, count: 1201))
        }
    }
}
