import Foundation

/// Programs that nobody here wrote, such as Python's `bullmq`, in a virtual environment that scripts/peers made.
struct PythonPeer {
    /// The scripts and settings that tests give them.
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Peers")

    private let program: URL

    /// - Parameters:
    ///   - peer: name and version of the package.
    ///   - program: what of it is run.
    init(_ peer: String = "bullmq-3.4.4", program: String = "python") throws {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["VARSEL_CACHE"] ?? (environment["HOME"] ?? "/root") + "/.cache/varsel"
        self.program = URL(fileURLWithPath: "\(cache)/peers/\(peer)/bin/\(program)")
        guard FileManager.default.isExecutableFile(atPath: self.program.path) else {
            throw StageError(description: "\(self.program.path) is missing: run ./scripts/peers")
        }
    }

    /// Runs a script of the folder Peers and answers what it printed.
    func run(_ script: String, _ arguments: [String]) async throws -> String {
        try await run([Self.folder.appendingPathComponent(script).path] + arguments)
    }

    /// Runs the program and answers what it printed.
    /// - Parameters:
    ///   - environment: beside what this process has.
    ///   - folder: where it runs and may leave files.
    /// - Throws: when it does not end with 0, with the end of what it printed.
    func run(_ arguments: [String], environment: [String: String] = [:], in folder: URL? = nil) async throws -> String {
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-peer-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: output) }
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = folder }
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = try String(contentsOf: output, encoding: .utf8)
        guard status == 0 else {
            throw StageError(description: "\(program.lastPathComponent) ended with \(status): \(text.suffix(6000))")
        }
        return text
    }
}
