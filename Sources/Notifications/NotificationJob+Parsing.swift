package import Kernel
import NotificationContract

/// Reads notifications from JSON and says of every field what is wrong with it.
///
/// The gateway uses it for requests and the engine for jobs, so that both refuse the same things.
package struct NotificationParser: Sendable {
    private let registry: CategoryRegistry
    private let catalog: Catalog
    private let deeplinkSchemes: Set<String>

    /// - Parameter deeplinkSchemes: the URL schemes a link may have, such as `im`.
    package init(registry: CategoryRegistry, catalog: Catalog, deeplinkSchemes: Set<String>) {
        self.registry = registry
        self.catalog = catalog
        self.deeplinkSchemes = deeplinkSchemes
    }

    /// Reads one notification.
    /// - Parameter pointer: where the value stands in the request, put before each field's pointer.
    /// - Throws: every problem found, at least one.
    package func parse(_ value: JSONValue, at pointer: String = "") throws(FieldProblems) -> NotificationJob {
        guard value.members != nil else {
            throw FieldProblems([
                FieldProblem(pointer: pointer, reason: "invalid_data", message: "must be an object, not \(value.kind)")
            ])
        }
        var reader = FieldReader(value: value, pointer: pointer)
        let user = reader.required("userId", reason: "invalid_user")
        let userID = user.flatMap(UserID.init)
        if user != nil, userID == nil { reader.report("userId", "invalid_user", "must be \(UserID.rule)") }
        let category = category(&reader)
        let text = text(&reader)
        let title = reader.text("title", limit: NotificationLimits.title, reason: "invalid_title")
        let deeplink = deeplink(&reader)
        let metadata = metadata(&reader)
        let source = reader.identifier("sourceEntityId", limit: NotificationLimits.sourceEntityID)
        let language = reader.text("languageCode", limit: NotificationLimits.languageCode, reason: "invalid_language")
        let batch = reader.text("batchRef", limit: NotificationLimits.batchReference, reason: "invalid_batch")
        guard reader.problems.isEmpty, let userID, let category, let text else {
            throw FieldProblems(reader.problems)
        }
        return NotificationJob(
            userID: userID,
            category: category.id,
            text: text,
            title: title.map(OperatorText.init(writtenByOperator:)),
            deeplinkURL: deeplink,
            metadata: metadata,
            sourceEntityID: source,
            languageCode: language,
            batchReference: batch
        )
    }

    private func category(_ reader: inout FieldReader) -> Category? {
        guard let id = reader.required("category", reason: "invalid_category") else { return nil }
        do {
            return try registry.category(CategoryID(id))
        } catch {
            reader.report("category", "invalid_category", error.description)
            return nil
        }
    }

    private func text(_ reader: inout FieldReader) -> NotificationText? {
        let reference = reader.value("text")
        let body = reader.value("body")
        if reference != nil, body != nil {
            reader.report("text", "invalid_text", "give either \"body\" or \"text\", not both")
            return nil
        }
        if let reference { return catalogText(reference, &reader) }
        guard body != nil else {
            reader.report("body", "invalid_body", "is missing: give \"body\", or \"text\" with a catalog key")
            return nil
        }
        guard let words = reader.text("body", limit: NotificationLimits.body, reason: "invalid_body") else {
            return nil
        }
        let written = OperatorText(writtenByOperator: words)
        guard !written.isBlank else {
            reader.report("body", "invalid_body", "must not be empty")
            return nil
        }
        return .literal(body: written)
    }

    private func catalogText(_ value: JSONValue, _ reader: inout FieldReader) -> NotificationText? {
        guard let key = value["key"]?.stringValue else {
            reader.report("text", "invalid_text", "must be an object with a catalog \"key\"")
            return nil
        }
        var variables: [String: String] = [:]
        if let given = value["variables"], !given.isNull {
            guard let members = given.members, members.count <= NotificationLimits.catalogVariables,
                members.allSatisfy({ ($0.value.stringValue?.utf8.count ?? .max) <= NotificationLimits.catalogVariable })
            else {
                reader.report(
                    "text/variables",
                    "invalid_text",
                    "must be an object of at most \(NotificationLimits.catalogVariables) strings, each of at most \(NotificationLimits.catalogVariable) bytes"
                )
                return nil
            }
            for member in members { variables[member.name] = member.value.stringValue }
        }
        if let problem = catalog.problem(key: key, variables: variables) {
            reader.report("text", "invalid_text", problem)
            return nil
        }
        return .catalog(key: key, variables: CatalogVariables(parsed: variables))
    }

    private func deeplink(_ reader: inout FieldReader) -> String? {
        guard let link = reader.text("deeplinkUrl", limit: NotificationLimits.deeplink, reason: "invalid_deeplink")
        else {
            return nil
        }
        let scheme = link.prefix { $0 != ":" }
        guard link.utf8.count > scheme.utf8.count, deeplinkSchemes.contains(scheme.lowercased()),
            link.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F })
        else {
            let schemes = deeplinkSchemes.sorted().joined(separator: ", ")
            reader.report(
                "deeplinkUrl",
                "invalid_deeplink",
                "must be a URL without spaces or control characters, with one of the schemes \(schemes)"
            )
            return nil
        }
        return link
    }

    private func metadata(_ reader: inout FieldReader) -> JSONValue? {
        guard let value = reader.value("metadata") else { return nil }
        guard value.members != nil, value.utf8.count <= NotificationLimits.metadata else {
            reader.report(
                "metadata",
                "invalid_metadata",
                "must be an object of at most \(NotificationLimits.metadata) bytes as JSON"
            )
            return nil
        }
        return value
    }
}

/// All that is wrong with one value.
package struct FieldProblems: Error, Equatable, CustomStringConvertible {
    package let problems: [FieldProblem]

    package init(_ problems: [FieldProblem]) {
        self.problems = problems
    }

    package var description: String { problems.map(\.description).joined(separator: "; ") }
}
