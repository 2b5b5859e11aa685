extension ConfigReader {
    /// A variable that is set, looks like one of ours and is read by nobody.
    package struct Suspect: Sendable, Equatable {
        package let name: String
        /// The known variable it resembles most, if it resembles one.
        package let suggestion: String?
    }

    /// The variables with one of our prefixes that no process reads, as a misspelt name would be.
    /// - Parameters:
    ///   - prefixes: what our variables begin with.
    ///   - known: the variables that other processes read: one environment file may serve all of them.
    package func suspects(
        prefixes: [String] = VariableNames.prefixes,
        known: Set<String> = VariableNames.all
    ) -> [Suspect] {
        let names = known.union(settings.map(\.name))
        return environmentNames.filter { name in
            !names.contains(name) && prefixes.contains(where: name.hasPrefix)
                && !(name.hasSuffix("_FILE") && names.contains(String(name.dropLast(5))))
        }
        .sorted()
        .map { name in
            let closest = names.map { (name: $0, distance: editDistance($0, name)) }
                .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
            return Suspect(name: name, suggestion: closest.flatMap { $0.distance <= 3 ? $0.name : nil })
        }
    }
}

/// How many single-character edits lead from one text to the other (Levenshtein).
func editDistance(_ first: String, _ second: String) -> Int {
    let target = Array(second.utf8)
    var row = Array(0...target.count)
    for (index, byte) in first.utf8.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in 0..<target.count {
            let above = row[column + 1]
            row[column + 1] = min(diagonal + (byte == target[column] ? 0 : 1), above + 1, row[column] + 1)
            diagonal = above
        }
    }
    return row[target.count]
}
