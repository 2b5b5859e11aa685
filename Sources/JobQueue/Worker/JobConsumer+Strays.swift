import RedisClient

extension JobConsumer {
    /// The active jobs whose lock this consumer made, the ones it knows of included. Call it while no claim is under way.
    func strays() async throws(JobQueueError) -> [LockedJob] {
        try await connection.run(QueueScripts.strays, [.string(tokenBase + ":")]).reading { reply throws(RedisError) in
            let parts = try reply.requireArray("strays")
            var jobs: [LockedJob] = []
            for index in stride(from: 0, to: parts.count - 1, by: 2) {
                jobs.append(
                    LockedJob(
                        id: try parts[index].requireString("strays"),
                        token: try parts[index + 1].requireString("strays")
                    )
                )
            }
            return jobs
        }
    }
}
