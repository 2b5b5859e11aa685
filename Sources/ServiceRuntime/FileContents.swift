import Glibc

/// Small files named by the configuration: keys, certificates, credentials.
package enum FileContents {
    /// Reads a whole file.
    /// - Parameters:
    ///   - path: the file.
    ///   - limit: the most bytes it may have.
    package static func bytes(_ path: String, limit: Int = 1_048_576) throws(ConfigError) -> [UInt8] {
        do {
            return try read(path, limit: limit)
        } catch {
            throw ConfigError(name: path, problem: error.reason, fix: "Name a file that this user may read.")
        }
    }

    static func read(_ path: String, limit: Int) throws(ConfigReader.Invalid) -> [UInt8] {
        let descriptor = try open(path)
        defer { close(descriptor) }
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 { throw ConfigReader.Invalid("\(quoted(path)) cannot be read: \(errnoText())") }
            if count == 0 { return contents }
            contents.append(contentsOf: buffer[..<count])
            if contents.count > limit { throw ConfigReader.Invalid("\(quoted(path)) is larger than \(limit) bytes") }
        }
    }

    /// Throws unless the path names a regular file that can be opened for reading.
    static func check(_ path: String) throws(ConfigReader.Invalid) {
        close(try open(path))
    }

    private static func open(_ path: String) throws(ConfigReader.Invalid) -> Int32 {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ConfigReader.Invalid("\(quoted(path)) cannot be read: \(errnoText())") }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw ConfigReader.Invalid("\(quoted(path)) is a directory")
        }
        return descriptor
    }

    private static func errnoText() -> String {
        String(cString: strerror(errno)).lowercased()
    }
}
