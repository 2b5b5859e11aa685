/// One thing wrong with one environment variable.
package struct ConfigProblem: Sendable, Equatable {
    /// The variable.
    package let name: String
    /// What is wrong, such as `"abc" is not a whole number`. Never holds a secret.
    package let problem: String
    /// What to do about it, as a sentence.
    package let fix: String

    package init(name: String, problem: String, fix: String) {
        self.name = name
        self.problem = problem
        self.fix = fix
    }
}

/// Everything that is wrong with a configuration, in one message. A process that meets it ends with code 78 (`EX_CONFIG`),
/// which the systemd units never restart.
package struct ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    package let problems: [ConfigProblem]

    package init(problems: [ConfigProblem]) {
        self.problems = problems
    }

    /// One problem, for what is found only after the variables were read, such as an old database schema.
    package init(name: String, problem: String, fix: String) {
        self.init(problems: [ConfigProblem(name: name, problem: problem, fix: fix)])
    }

    package var description: String {
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        let lines = problems.map { "  \($0.name): \($0.problem). \($0.fix)" }
        return (["\(count) in the configuration:"] + lines).joined(separator: "\n")
    }
}
