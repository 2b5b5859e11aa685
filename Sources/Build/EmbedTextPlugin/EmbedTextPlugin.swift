import Foundation
import PackagePlugin

/// Runs `EmbedText` over the folders `Lua`, `Migrations` and `Texts` of a target.
@main
struct EmbedTextPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let module = target.sourceModule else { return [] }
        let manager = FileManager.default
        var folders: [URL] = []
        var inputs: [URL] = []
        for name in ["Lua", "Migrations", "Texts"] {
            let folder = module.directoryURL.appendingPathComponent(name, isDirectory: true)
            guard let paths = manager.subpaths(atPath: folder.path) else { continue }
            folders.append(folder)
            inputs += paths.filter { $0.contains(".") }.map { folder.appendingPathComponent($0) }
        }
        guard !folders.isEmpty else { return [] }
        let output = context.pluginWorkDirectoryURL.appendingPathComponent("EmbeddedText.swift")
        return [
            .buildCommand(
                displayName: "Embedding the text files of \(module.name)",
                executable: try context.tool(named: "EmbedText").url,
                arguments: [output.path] + folders.map(\.path),
                inputFiles: inputs,
                outputFiles: [output]
            )
        ]
    }
}
