import Kernel
import Notifications
import PushTransport
import Synchronization

/// Keeps a window of pushes in flight: each outcome sends the next push.
final class PushLoad: Sendable {
    struct Result: Sendable {
        var accepted = 0
        var failed = 0
        /// Pushes that were sent again because nobody knew what became of them.
        var repeated = 0
        var firstFailure = ""
    }

    private struct State {
        var result = Result()
        var next = 0
        var end = 0
        var open = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private static let payload =
        Array(
            #"{"aps":{"alert":{"title":"Impulse AI","body":"Have you checked in with yourself today?"},"category":"reminder","#
                .utf8
        )
        + Array(
            #""interruption-level":"passive","thread-id":"reminder"},"source":"notification","#.utf8
        )
        + Array(
            #""messageId":"01920000-0000-7000-8000-000000000000","deeplinkUrl":"im://home?source=notification"}"#.utf8
        )

    private let transport: PushTransport
    private let tokens: [String]
    private let topic: String
    private let repeatsUnknown: Bool
    private let state = Mutex(State())

    /// The size of every body, in bytes.
    static var payloadSize: Int { payload.count }

    init(transport: PushTransport, tokens: [String], topic: String, repeatsUnknown: Bool) {
        self.transport = transport
        self.tokens = tokens
        self.topic = topic
        self.repeatsUnknown = repeatsUnknown
    }

    /// Sends so many more pushes and waits for the last outcome.
    func run(count: Int, window: Int) async -> Result {
        let numbers = state.withLock { state in
            state.result = Result()
            state.end = state.next + count
            let first = state.next..<min(state.next + window, state.end)
            state.next = first.upperBound
            state.open = first.count
            return first
        }
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiter = continuation }
            for number in numbers { send(number) }
        }
        return state.withLock { $0.result }
    }

    private func send(_ number: Int) {
        let request = PushRequest(
            deviceToken: tokens[number % tokens.count],
            environment: .production,
            topic: topic,
            messageID: UUIDBits(high: 0x0192_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)),
            payload: Self.payload,
            priority: .considerate,
            expiration: Timestamp(milliseconds: 1_900_000_000_000)
        )
        transport.send(request) { [self] outcome in ended(number, outcome) }
    }

    private func ended(_ number: Int, _ outcome: PushOutcome) {
        enum Step { case send(Int), later(Int), finish(CheckedContinuation<Void, Never>?), nothing }
        let step = state.withLock { state -> Step in
            switch outcome {
            case .accepted: state.result.accepted += 1
            case .unknown where repeatsUnknown:
                state.result.repeated += 1
                return .send(number)
            case .notSent where repeatsUnknown: return .later(number)
            default:
                state.result.failed += 1
                if state.result.firstFailure.isEmpty { state.result.firstFailure = "\(outcome)" }
            }
            if state.next < state.end {
                state.next += 1
                return .send(state.next - 1)
            }
            state.open -= 1
            guard state.open == 0 else { return .nothing }
            defer { state.waiter = nil }
            return .finish(state.waiter)
        }
        switch step {
        case .send(let next): send(next)
        case .later(let same):
            Task {
                try await Task.sleep(for: .milliseconds(20))
                send(same)
            }
        case .finish(let waiter): waiter?.resume()
        case .nothing: break
        }
    }
}
