import Kernel

/// What the API's description says of one route, beside method, path, access and summary.
package struct RouteDescription: Sendable {
    /// What the document is divided into.
    package enum Tag: String, Sendable, CaseIterable {
        case devices = "Devices"
        case inbox = "Inbox"
        case preferences = "Preferences"
        case notifications = "Notifications"
        case activity = "Activity"
        case liveActivities = "Live Activities and raw pushes"
        case subscriptions = "Subscriptions"
        case campaigns = "Campaigns"
        case privacy = "Privacy"
        case operation = "Operation"
        case development = "Development"
        case description = "Description"
    }

    /// A parameter in the path, the query or a header.
    package struct Parameter: Sendable {
        enum Place: String {
            case path, query, header
        }

        let place: Place
        let name: String
        let schema: Schema
        let text: String
        let example: JSONValue?

        static func path(_ name: String, _ schema: Schema, _ text: String, example: JSONValue) -> Parameter {
            Parameter(place: .path, name: name, schema: schema, text: text, example: example)
        }

        static func query(_ name: String, _ schema: Schema, _ text: String, example: JSONValue? = nil) -> Parameter {
            Parameter(place: .query, name: name, schema: schema, text: text, example: example)
        }

        static func header(_ name: String, _ schema: Schema, _ text: String, example: JSONValue? = nil) -> Parameter {
            Parameter(place: .header, name: name, schema: schema, text: text, example: example)
        }
    }

    /// A request's JSON body.
    package struct Body: Sendable {
        let schema: Schema
        let isRequired: Bool
        let examples: [(name: String, value: JSONValue)]

        init(_ schema: Schema, isRequired: Bool = true, examples: [(name: String, value: JSONValue)]) {
            self.schema = schema
            self.isRequired = isRequired
            self.examples = examples
        }
    }

    /// Where a value of an answer leads: an OpenAPI link.
    package struct Link: Sendable {
        /// The id of the operation that takes it.
        let operation: String
        /// Its parameter in the path.
        let parameter: String
        /// A JSON pointer into the answer's body.
        let pointer: String
    }

    /// A successful answer.
    package struct Answer: Sendable {
        let status: Int
        let text: String
        /// Of the whole body; `nil` for none.
        let schema: Schema?
        let example: JSONValue?
        let headers: [(name: String, schema: Schema, text: String)]
        let contentType: String
        private(set) var links: [Link] = []

        init(
            _ status: Int,
            _ text: String,
            _ schema: Schema? = nil,
            example: JSONValue? = nil,
            headers: [(name: String, schema: Schema, text: String)] = [],
            contentType: String = "application/json"
        ) {
            self.status = status
            self.text = text
            self.schema = schema
            self.example = example
            self.headers = headers
            self.contentType = contentType
        }

        /// An answer in the envelope; schema and example are of what `data` holds.
        static func data(
            _ status: Int,
            _ text: String,
            _ schema: Schema,
            example: JSONValue,
            headers: [(name: String, schema: Schema, text: String)] = []
        ) -> Answer {
            Answer(status, text, .data(schema), example: ["data": example], headers: headers)
        }

        /// The same answer, whose value at the pointer is a parameter of these operations.
        func leading(to operations: [String], by parameter: String, from pointer: String) -> Answer {
            var answer = self
            answer.links += operations.map { Link(operation: $0, parameter: parameter, pointer: pointer) }
            return answer
        }
    }

    /// Problems that this route answers beside those of every route.
    package struct Refusal: Sendable {
        let status: Int
        /// The last parts of their types.
        let slugs: [String]
        let text: String

        init(_ status: Int, _ slugs: [String], _ text: String) {
            self.status = status
            self.slugs = slugs
            self.text = text
        }
    }

    /// Stable for generated clients.
    let operation: String
    let tag: Tag
    /// Markdown.
    let detail: String
    let parameters: [Parameter]
    let body: Body?
    let answers: [Answer]
    let refusals: [Refusal]
    let isDeprecated: Bool
    /// Whether it makes no difference who calls.
    let isOpen: Bool

    init(
        _ operation: String,
        _ tag: Tag,
        _ detail: String = "",
        parameters: [Parameter] = [],
        body: Body? = nil,
        answers: [Answer],
        refusals: [Refusal] = [],
        isDeprecated: Bool = false,
        isOpen: Bool = false
    ) {
        self.operation = operation
        self.tag = tag
        self.detail = detail
        self.parameters = parameters
        self.body = body
        self.answers = answers
        self.refusals = refusals
        self.isDeprecated = isDeprecated
        self.isOpen = isOpen
    }
}
