import Kernel
import NotificationContract
package import Notifications
package import Observability
import Synchronization

/// Asks a chooser within a deadline, and takes the template where its answer is late, fails or breaks the rule.
package struct ChosenText: Sendable {
    private enum Answer: Sendable {
        case key(String)
        case failed(String)
        case late
    }

    private let chooser: any TextChooser
    private let catalog: Catalog
    private let template: String
    private let deadline: Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let telemetry: Telemetry

    /// - Parameters:
    ///   - template: the key of the text that needs no choice.
    ///   - deadline: how long the chooser may take; what it is doing then is cancelled and no longer waited for.
    ///   - sleep: waits for a deadline.
    package init(
        chooser: any TextChooser,
        catalog: Catalog,
        template: String,
        deadline: Duration,
        telemetry: Telemetry,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.chooser = chooser
        self.catalog = catalog
        self.template = template
        self.deadline = deadline
        self.telemetry = telemetry
        self.sleep = sleep
    }

    /// The key of the text to send: one of the candidates that needs no variables, or the template.
    package func key(for occasion: TextOccasion) async -> String {
        switch await answer(to: occasion) {
        case .key(let key):
            if occasion.candidates.contains(key), catalog.problem(key: key, variables: [:]) == nil {
                count("chosen")
                return key
            }
            // The answer may hold anything, so it is not logged.
            return fallBack("refused", "the answer is none of the candidates", occasion)
        case .failed(let error): return fallBack("failed", error, occasion)
        case .late: return fallBack("late", "no answer in time", occasion)
        }
    }

    private func fallBack(_ outcome: String, _ problem: String, _ occasion: TextOccasion) -> String {
        count(outcome)
        telemetry.logger.warning(
            "the template stands in for a chosen text",
            ["category": .string(occasion.category.rawValue), "problem": .string(problem)]
        )
        return template
    }

    private func count(_ outcome: String) {
        telemetry.metrics.counter(
            "text_choices_total",
            help: "Texts that a chooser was asked for, by what came of it",
            labels: [("outcome", outcome)]
        )
        .increment()
    }

    /// Whatever comes first. A chooser that ignores its cancellation holds nobody up, which a task group could not promise.
    private func answer(to occasion: TextOccasion) async -> Answer {
        let (answers, continuation) = AsyncStream.makeStream(of: Answer.self, bufferingPolicy: .bufferingOldest(1))
        let (chooser, sleep, deadline) = (chooser, sleep, deadline)
        let work = Task(name: "chooser") {
            do {
                continuation.yield(.key(try await chooser.choose(occasion)))
            } catch {
                // Its type alone: the text of a foreign error may quote what was asked.
                continuation.yield(.failed("\(type(of: error))"))
            }
        }
        let timer = Task(name: "chooser deadline") {
            do {
                try await sleep(deadline)
                continuation.yield(.late)
            } catch {
                return  // The answer came first.
            }
        }
        defer {
            work.cancel()
            timer.cancel()
            continuation.finish()
        }
        for await answer in answers { return answer }
        return .late
    }
}
