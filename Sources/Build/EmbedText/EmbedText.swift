import Foundation

/// Writes one Swift file that holds every text file of the given folders as a constant.
///
/// Usage: `EmbedText OUTPUT FOLDER…`. A folder `Lua` becomes `EmbeddedText.lua`, a list of (name without extension, text)
/// in the order of names. A line `-- include: file` in a Lua file is replaced by that file's text, once per script.
@main
struct EmbedText {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else {
            throw EmbedError(message: "usage: EmbedText OUTPUT FOLDER…")
        }
        var source = "// Written by EmbedText at build time.\n\nenum EmbeddedText {\n"
        for folder in arguments.dropFirst(2) {
            source += try declaration(of: URL(fileURLWithPath: folder, isDirectory: true))
        }
        source += "}\n"
        try source.write(toFile: arguments[1], atomically: true, encoding: .utf8)
    }

    private static func declaration(of folder: URL) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { !$0.hasPrefix(".") && $0.contains(".") }
            .sorted()
        var lines = "    static let \(folder.lastPathComponent.lowercased()): [(name: String, text: String)] = [\n"
        for name in names {
            var included: Set<String> = []
            let text = try resolved(folder.appendingPathComponent(name), included: &included)
            guard !text.contains("\"\"\"###") else {
                throw EmbedError(message: "\(name) contains the delimiter of a raw string")
            }
            let stem = name.split(separator: ".").dropLast().joined(separator: ".")
            lines += "        (\"\(stem)\", ###\"\"\"\n\(text)\n\"\"\"###),\n"
        }
        return lines + "    ]\n"
    }

    private static func resolved(_ file: URL, included: inout Set<String>) throws -> String {
        let marker = "-- include: "
        var output: [String] = []
        for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
            guard file.pathExtension == "lua", line.hasPrefix(marker) else {
                output.append(line)
                continue
            }
            let name = line.dropFirst(marker.count).trimmingCharacters(in: .whitespaces)
            if included.insert(name).inserted {
                let part = file.deletingLastPathComponent().appendingPathComponent(name)
                output.append(try resolved(part, included: &included))
            }
        }
        return output.joined(separator: "\n")
    }
}

struct EmbedError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
