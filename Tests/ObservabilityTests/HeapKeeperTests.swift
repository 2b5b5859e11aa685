import Glibc
import Testing

@testable import ServiceRuntime

@Suite struct HeapKeeperTests {
    private static let megabyte = 1024 * 1024

    @Test(
        arguments: [
            // Resident megabytes one after the other, and at which of them memory is returned.
            ([40], []),
            ([40, 56], []),
            ([40, 57], [1]),
            ([60, 40, 56, 57], [3]),
            ([40, 100, 100, 100], [1]),
            ([40, 100, 110, 117], [1, 3]),
        ] as [([Int], [Int])]
    )
    func `memory is returned when the process grew by more than sixteen megabytes`(megabytes: [Int], returns: [Int]) {
        var policy = HeapKeeper.Policy()
        var seen: [Int] = []
        for (index, megabyte) in megabytes.enumerated() where policy.isWorthReturning(at: megabyte * Self.megabyte) {
            seen.append(index)
            policy.returned(leaving: megabyte * Self.megabyte)
        }
        #expect(seen == returns)
    }

    @Test func `what was freed between blocks that live on goes back to the system`() throws {
        let policy = HeapKeeper.turn(HeapKeeper.Policy())
        let count = 30_000
        let blocks = (0..<count).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 4000, alignment: 8) }
        for block in blocks { block.initializeMemory(as: UInt8.self, repeating: 1, count: 4000) }
        // One of a hundred stays, so that the heap cannot shrink from its end.
        for (index, block) in blocks.enumerated() where index % 100 != 99 { block.deallocate() }
        let full = try #require(HeapKeeper.residentBytes())
        _ = HeapKeeper.turn(policy)
        let left = try #require(HeapKeeper.residentBytes())
        for (index, block) in blocks.enumerated() where index % 100 == 99 { block.deallocate() }
        #expect(full - left > 60 * Self.megabyte)
    }
}
