import Foundation
import JobQueue
import RedisClient

/// Two workers that claim and complete in groups of 256 with 2,048 jobs each in flight, in the order of the claims or at random.
final class ClaimLoad {
    private static let group = 256
    private static let inFlightEach = 2048
    /// How many jobs both workers hold together.
    static let inFlight = 2 * inFlightEach

    private let server: ThreadTime
    private let isRandom: Bool
    private let workers: [JobConsumer]
    private var held: [[LockedJob]]

    init(queue: JobQueue, redis: RedisClient, url: RedisURL, server: ThreadTime, isRandom: Bool) {
        self.server = server
        self.isRandom = isRandom
        workers = ["bench-1", "bench-2"].map { name in
            JobConsumer(
                queue: queue,
                redis: redis,
                blockingURL: url,
                workerName: name,
                options: JobConsumer.Options(lockDuration: .seconds(600))
            )
        }
        held = workers.map { _ in [] }
    }

    /// Ends this many jobs, a multiple of 512, as many being claimed anew while there are any.
    /// - Returns: the server's processor time for each, in microseconds.
    func run(jobs: Int) async throws -> Double {
        let before = server.microseconds
        var done = 0
        while done < jobs {
            for index in workers.indices {
                while held[index].count + Self.group <= Self.inFlightEach {
                    let claimed = try await workers[index].claim(limit: Self.group).jobs
                    if claimed.isEmpty { break }
                    held[index] += claimed.map(\.locked)
                }
                done += try await finish(index)
            }
        }
        return (server.microseconds - before) / Double(done)
    }

    private func finish(_ index: Int) async throws -> Int {
        if isRandom { held[index].shuffle() }
        let ending = held[index].prefix(Self.group)
        guard !ending.isEmpty else { throw BenchError(description: "there are no jobs left to end") }
        held[index].removeFirst(ending.count)
        let results = try await workers[index].finish(
            ending.map { FinishedJob($0, .completed(returnvalue: #"{"outcome":"sent"}"#)) }
        )
        guard results.allSatisfy({ $0 == .done }) else { throw BenchError(description: "a lock was lost") }
        return ending.count
    }

    func end() async {
        for worker in workers { await worker.close() }
    }
}
