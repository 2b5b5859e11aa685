import Foundation

/// A producer or dashboard that nobody here wrote: Python's `bullmq`, in the virtual environment that scripts/peers made.
struct PythonPeer {
    private let python: URL

    init(version: String = "3.4.4") throws {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["VARSEL_CACHE"] ?? (environment["HOME"] ?? "/root") + "/.cache/varsel"
        python = URL(fileURLWithPath: "\(cache)/peers/bullmq-\(version)/bin/python")
        guard FileManager.default.isExecutableFile(atPath: python.path) else {
            throw StageError(description: "\(python.path) is missing: run ./scripts/peers")
        }
    }

    /// Runs a script of the folder Peers and answers what it printed.
    func run(_ script: String, _ arguments: [String]) async throws -> String {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Peers/\(script)")
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("varsel-peer-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: output) }
        let process = Process()
        process.executableURL = python
        process.arguments = [file.path] + arguments
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = try String(contentsOf: output, encoding: .utf8)
        guard status == 0 else { throw StageError(description: "\(script) ended with \(status): \(text.suffix(2000))") }
        return text
    }
}
