import Glibc

/// The command line does not make sense; `varselctl help` tells what does.
struct UsageError: Error, CustomStringConvertible {
    /// EX_USAGE of sysexits.h.
    static let exitCode: Int32 = 64

    let description: String
}

/// One thing varselctl can do.
enum Command: Equatable {
    case help
    case migrate
    case maintain
    /// The story of a message, or of a user's newest messages.
    case explain(subject: String, limit: Int)
    /// Checks the configuration of one service, or of all.
    case configCheck(service: String?)
    /// Recounts the weekly slots from the database.
    case capsRebuild
    /// Looks after the queue.
    case queue(QueueCommand)

    static let usage = """
        usage:
          varselctl migrate                        bring the database to the schema of this version
          varselctl maintain                       make partitions ahead and drop old ones (daily)
          varselctl explain <messageId | userId> [--limit N]
                                                   what became of a message, or of a user's newest ones, and why
          varselctl config check [SERVICE]         check the configuration of a service, or of all
          varselctl caps rebuild                   take the weekly slots anew that the messages in the database hold
          varselctl queue stats                    what is in the queue, how old it is, who works on it
          varselctl queue check [--repair-ghosts]  compare the queue's states with its keys; take ids without a job out
          varselctl queue pause | resume           stop workers from taking jobs, and let them go on
          varselctl queue retry-failed             let all failed jobs run again
          varselctl help                           this text

        Settings come from the environment: DATABASE_URL, for maintain MESSAGE_RETENTION_MONTHS,
        EVENT_RETENTION_MONTHS and APP_STORE_RETENTION_MONTHS, for caps REDIS_URL and CAPS_REDIS_URL, and for queue REDIS_URL,
        QUEUE_PREFIX and QUEUE_NAME.
        """

    init(parsing arguments: [String]) throws(UsageError) {
        switch arguments.first {
        case "migrate": self = .migrate
        case "maintain": self = .maintain
        case "explain":
            self = try Self.explain(Array(arguments.dropFirst()))
            return
        case "config":
            guard arguments.count >= 2, arguments[1] == "check", arguments.count <= 3 else {
                throw UsageError(description: "varselctl config knows one command: check")
            }
            self = .configCheck(service: arguments.count == 3 ? arguments[2] : nil)
            return
        case "caps":
            guard arguments == ["caps", "rebuild"] else {
                throw UsageError(description: "varselctl caps knows one command: rebuild")
            }
            self = .capsRebuild
            return
        case "queue":
            self = .queue(try QueueCommand(parsing: Array(arguments.dropFirst())))
            return
        case "help", "--help", "-h": self = .help
        case nil: throw UsageError(description: "varselctl needs a command")
        case .some(let other): throw UsageError(description: "varselctl does not know \"\(other)\"")
        }
        guard arguments.count == 1 else {
            throw UsageError(description: "varselctl \(arguments[0]) takes no arguments")
        }
    }

    private static func explain(_ arguments: [String]) throws(UsageError) -> Command {
        var rest = arguments
        var limit = 20
        if let index = rest.firstIndex(of: "--limit") {
            guard index + 1 < rest.count, let number = Int(rest[index + 1]), (1...100).contains(number) else {
                throw UsageError(description: "--limit needs a number from 1 to 100")
            }
            limit = number
            rest.removeSubrange(index...(index + 1))
        }
        guard rest.count == 1, let subject = rest.first else {
            throw UsageError(description: "varselctl explain needs one message id or user id")
        }
        return .explain(subject: subject, limit: limit)
    }
}

/// The two streams a person reads.
enum Terminal {
    static func say(_ text: String) {
        put(text + "\n", to: STDOUT_FILENO)
    }

    static func complain(_ text: String) {
        put(text + "\n", to: STDERR_FILENO)
    }

    private static func put(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else { return }
            offset += written
        }
    }
}
