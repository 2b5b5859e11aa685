import Notifications
import Producers
import Testing

struct ProductTiersTests {
    @Test func `a product has one name, or one by language with English for the rest (P6)`() throws {
        let file = #"{"pro": "Pro", "plus": {"en": "Plus plan", "nb": "Pluss"}}"#
        let tiers = try ProductTiers(file: Array(file.utf8))
        #expect(tiers.name(of: "pro", .norwegian) == "Pro")
        #expect(tiers.name(of: "plus", .norwegian) == "Pluss")
        #expect(tiers.name(of: "plus", .german) == "Plus plan")
        #expect(tiers.name(of: "other", .english) == nil)
        #expect(tiers.name(of: nil, .english) == nil)
    }

    @Test(arguments: [
        "[]", "{", #"{"pro": ""}"#, #"{"pro": " "}"#, #"{"pro": 5}"#, #"{"pro": {"nb": "Pluss"}}"#,
        #"{"pro": {"en": "a", "xx": "b"}}"#, #"{"pro": "a\nb"}"#, #"{"pro": {"en": 5}}"#,
    ])
    func `a file that says something else is refused`(_ text: String) {
        #expect(throws: ProductTiers.FileError.self) { try ProductTiers(file: Array(text.utf8)) }
    }
}
