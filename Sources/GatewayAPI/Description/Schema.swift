package import Kernel

/// A JSON Schema of the 2020-12 dialect, as OpenAPI 3.1 uses it, in the few forms the gateway needs.
package struct Schema: Sendable, Equatable {
    private let members: [JSONMember]

    package var json: JSONValue { .object(members) }

    private init(_ members: [JSONMember?]) {
        self.members = members.compactMap(\.self)
    }

    /// A member of an object.
    package struct Member: Sendable {
        let name: String
        let schema: Schema
        let isRequired: Bool

        static func required(_ name: String, _ schema: Schema) -> Member {
            Member(name: name, schema: schema, isRequired: true)
        }

        static func optional(_ name: String, _ schema: Schema) -> Member {
            Member(name: name, schema: schema, isRequired: false)
        }
    }

    /// A string. Lengths count characters; where the gateway counts bytes of UTF-8, the description says so.
    static func text(
        _ description: String? = nil,
        min: Int? = nil,
        max: Int? = nil,
        pattern: String? = nil,
        format: String? = nil,
        oneOf choices: [String]? = nil
    ) -> Schema {
        Schema([
            JSONMember("type", "string"), format.map { JSONMember("format", .string($0)) },
            choices.map { JSONMember("enum", .array($0.map(JSONValue.string))) },
            min.map { JSONMember("minLength", .integer($0)) }, max.map { JSONMember("maxLength", .integer($0)) },
            pattern.map { JSONMember("pattern", .string($0)) }, describing(description),
        ])
    }

    static func integer(_ description: String? = nil, min: Int? = nil, max: Int? = nil) -> Schema {
        Schema([
            JSONMember("type", "integer"), min.map { JSONMember("minimum", .integer($0)) },
            max.map { JSONMember("maximum", .integer($0)) }, describing(description),
        ])
    }

    static func number(_ description: String? = nil) -> Schema {
        Schema([JSONMember("type", "number"), describing(description)])
    }

    static func flag(_ description: String? = nil) -> Schema {
        Schema([JSONMember("type", "boolean"), describing(description)])
    }

    static func object(_ members: [Member], _ description: String? = nil) -> Schema {
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        return Schema([
            JSONMember("type", "object"),
            JSONMember("properties", .object(members.map { JSONMember($0.name, $0.schema.json) })),
            required.isEmpty ? nil : JSONMember("required", .array(required)), describing(description),
        ])
    }

    /// An object with names of its own, all of one form.
    static func map(of value: Schema, _ description: String? = nil, max: Int? = nil) -> Schema {
        Schema([
            JSONMember("type", "object"), JSONMember("additionalProperties", value.json),
            max.map { JSONMember("maxProperties", .integer($0)) }, describing(description),
        ])
    }

    static func list(of element: Schema, _ description: String? = nil, min: Int? = nil, max: Int? = nil) -> Schema {
        Schema([
            JSONMember("type", "array"), JSONMember("items", element.json),
            min.map { JSONMember("minItems", .integer($0)) }, max.map { JSONMember("maxItems", .integer($0)) },
            describing(description),
        ])
    }

    static func anyOf(_ schemas: [Schema], _ description: String? = nil) -> Schema {
        Schema([JSONMember("anyOf", .array(schemas.map(\.json))), describing(description)])
    }

    static func allOf(_ schemas: [Schema], _ description: String? = nil) -> Schema {
        Schema([JSONMember("allOf", .array(schemas.map(\.json))), describing(description)])
    }

    /// Objects that have at least one of these members, each sufficient by itself, and no two of them.
    static func exactlyOne(of names: [String]) -> Schema {
        Schema([JSONMember("oneOf", .array(names.map { ["required": [.string($0)]] }))])
    }

    /// Objects that have at least one of these members.
    static func atLeastOne(of names: [String]) -> Schema {
        Schema([JSONMember("anyOf", .array(names.map { ["required": [.string($0)]] }))])
    }

    /// Any JSON value.
    static func anything(_ description: String? = nil) -> Schema {
        Schema([describing(description)])
    }

    static let null = Schema([JSONMember("type", "null")])

    /// One of the document's named schemas.
    static func named(_ name: String) -> Schema {
        Schema([JSONMember("$ref", .string("#/components/schemas/\(name)"))])
    }

    /// RFC 3339 with an offset.
    static func moment(_ description: String? = nil) -> Schema { text(description, format: "date-time") }

    /// `{"data": …}`, the envelope of every successful answer with a body.
    static func data(_ schema: Schema) -> Schema { object([.required("data", schema)]) }

    /// The same, or null.
    var orNull: Schema {
        guard let type = json["type"], let name = type.stringValue else { return Schema.anyOf([self, .null]) }
        return Schema(
            members.map { member in
                switch member.name {
                case "type": JSONMember("type", [.string(name), "null"])
                case "enum": JSONMember("enum", .array((member.value.arrayValue ?? []) + [.null]))
                default: member
                }
            }
        )
    }

    private static func describing(_ text: String?) -> JSONMember? {
        text.map { JSONMember("description", .string($0)) }
    }
}
