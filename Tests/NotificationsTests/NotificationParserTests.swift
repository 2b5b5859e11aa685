import Kernel
import Notifications
import Testing

struct NotificationParserTests {
    private let parser = NotificationParser(
        registry: .standard,
        catalog: Catalog(
            texts: [
                .english: ["lifecycle.expiring": "Your {tierName} expires {expiryDate}.", "plain": "Hello {appName}"]
            ],
            appName: "Test"
        ),
        deeplinkSchemes: ["im"]
    )

    private func problems(_ json: String) throws -> [FieldProblem] {
        let value = try JSONValue(parsing: json)
        let error = #expect(throws: FieldProblems.self) { _ = try parser.parse(value) }
        return error?.problems ?? []
    }

    @Test func `a whole notification survives its own JSON (B1)`() throws {
        let json = """
            {"userId":"u1","category":"campaign","body":"Hi","title":"T","deeplinkUrl":"im://x","metadata":{"a":[1]},\
            "sourceEntityId":"cmp:1","languageCode":"nb-NO","batchRef":"b"}
            """
        let job = try parser.parse(JSONValue(parsing: json))
        #expect(try parser.parse(JSONValue(parsing: job.json)) == job)
        #expect(job.metadata?.text == #"{"a":[1]}"#)
    }

    @Test func `a catalog text is accepted with exactly its variables`() throws {
        let json = """
            {"userId":"u1","category":"lifecycle","text":{"key":"lifecycle.expiring",\
            "variables":{"tierName":"Pro","expiryDate":"1 May"}}}
            """
        let job = try parser.parse(JSONValue(parsing: json))
        let day = try #require(PlaceholderValue(date: "1 May"))
        #expect(
            job.text
                == .catalog(
                    key: "lifecycle.expiring",
                    variables: [.tierName: PlaceholderValue(name: "Pro"), .expiryDate: day]
                )
        )
    }

    @Test(arguments: [
        (#"{"category":"reminder","body":"x"}"#, "/userId", "invalid_user"),
        (#"{"userId":7,"category":"reminder","body":"x"}"#, "/userId", "invalid_user"),
        (#"{"userId":"a b","category":"reminder","body":"x"}"#, "/userId", "invalid_user"),
        (#"{"userId":"u","body":"x"}"#, "/category", "invalid_category"),
        (#"{"userId":"u","category":"spam","body":"x"}"#, "/category", "invalid_category"),
        (#"{"userId":"u","category":"reminder"}"#, "/body", "invalid_body"),
        (#"{"userId":"u","category":"reminder","body":"  "}"#, "/body", "invalid_body"),
        (#"{"userId":"u","category":"reminder","body":["x"]}"#, "/body", "invalid_body"),
        (#"{"userId":"u","category":"reminder","body":"x","text":{"key":"plain"}}"#, "/text", "invalid_text"),
        (#"{"userId":"u","category":"reminder","text":{"key":"nope"}}"#, "/text", "invalid_text"),
        (#"{"userId":"u","category":"reminder","text":{"key":"lifecycle.expiring"}}"#, "/text", "invalid_text"),
        (
            #"{"userId":"u","category":"reminder","text":{"key":"plain","variables":{"x":"1"}}}"#, "/text",
            "invalid_text"
        ),
        (
            #"{"userId":"u","category":"reminder","text":{"key":"plain","variables":{"x":1}}}"#, "/text/variables",
            "invalid_text"
        ),
        (
            #"{"userId":"u","category":"reminder","body":"x","deeplinkUrl":"http://x"}"#, "/deeplinkUrl",
            "invalid_deeplink"
        ),
        (#"{"userId":"u","category":"reminder","body":"x","deeplinkUrl":"im"}"#, "/deeplinkUrl", "invalid_deeplink"),
        (
            #"{"userId":"u","category":"reminder","body":"x","deeplinkUrl":"im://a b"}"#, "/deeplinkUrl",
            "invalid_deeplink"
        ),
        (#"{"userId":"u","category":"reminder","body":"x","metadata":[1]}"#, "/metadata", "invalid_metadata"),
        (
            #"{"userId":"u","category":"reminder","body":"x","sourceEntityId":"æ"}"#, "/sourceEntityId",
            "invalid_source_entity"
        ),
    ])
    func `every bad field is named (C3, B1)`(json: String, pointer: String, reason: String) throws {
        let found = try problems(json)
        #expect(found.map(\.pointer) == [pointer])
        #expect(found.map(\.reason) == [reason])
    }

    @Test func `an unknown category lists the known ones (C3)`() throws {
        let found = try problems(#"{"userId":"u","category":"spam","body":"x"}"#)
        #expect(found.first?.message.contains("reminder, lifecycle, campaign") == true)
    }

    @Test func `all problems are told at once`() throws {
        #expect(try problems(#"{"userId":"","category":"spam","body":""}"#).count == 3)
    }

    @Test func `limits are counted in bytes`() throws {
        let long = String(repeating: "æ", count: NotificationLimits.body / 2 + 1)
        #expect(
            try problems("{\"userId\":\"u\",\"category\":\"reminder\",\"body\":\"\(long)\"}").first?.pointer == "/body"
        )
    }
}
