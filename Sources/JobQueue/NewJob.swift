/// A job to be added.
package struct NewJob: Sendable {
    package let name: String
    /// One JSON text, stored byte for byte.
    package let data: String
    package let options: JobOptions

    package init(name: String, data: String, options: JobOptions = JobOptions()) {
        self.name = name
        self.data = data
        self.options = options
    }
}

/// What became of an added job.
package enum AddResult: Sendable, Equatable {
    case added(id: String)
    /// A job of this id exists, perhaps a finished one that is still kept. It was not changed.
    case duplicate(id: String)
    /// The job of this id stands for it, because it has the same deduplication id.
    case deduplicated(id: String)

    package var id: String {
        switch self {
        case .added(let id), .duplicate(let id), .deduplicated(let id): id
        }
    }

    /// Whether no job was added.
    package var isDuplicate: Bool {
        if case .added = self { false } else { true }
    }
}
