import Kernel
import Testing

struct JSONParserTests {
    @Test(arguments: [
        #"{"a":1,"b":[true,false,null],"c":"x"}"#, #""""#, "[]", "{}", "-0.5e-3", #""\u00e6\ud83d\ude00\n""#,
        "\t[1 , 2]\n",
    ])
    func `valid texts are read and written back with the same meaning`(text: String) throws {
        let value = try JSONValue(parsing: text)
        #expect(try JSONValue(parsing: value.text) == value)
    }

    @Test(arguments: [
        ("", "unexpected end"), ("{", "a name in double quotes is missing"), (#"{"a":1,"a":2}"#, "duplicate name"),
        (#""\ud800""#, "a lone surrogate"), (#""\udc00x""#, "a lone surrogate"), (#""\u0000""#, "a NUL character"),
        ("01", "unexpected text after the value"), ("1.", "a digit is missing"), ("+1", "unexpected character"),
        ("NaN", "unexpected character"), ("[1,]", "unexpected character"), (#"{"a" 1}"#, "a colon is missing"),
        ("[1 2]", "a comma is missing"), ("nul", "unexpected end"), ("nulL", "unexpected character"),
        ("\"a\nb\"", "a control character in a string"), (#""\x""#, "an unknown escape"),
        ("\u{FEFF}{}", "unexpected character"), ("{} x", "unexpected text after the value"),
        (#"{a:1}"#, "a name in double quotes is missing"),
    ])
    func `invalid texts are refused with the reason`(text: String, reason: String) {
        let error = #expect(throws: JSONError.self) { _ = try JSONValue(parsing: text) }
        #expect(error?.message == reason)
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: JSONError.self) { _ = try JSONValue(parsing: [0x22, 0xC3, 0x28, 0x22]) }
        #expect(throws: JSONError.self) { _ = try JSONValue(parsing: [0x22, 0xED, 0xA0, 0x80, 0x22]) }
    }

    @Test func `nesting and number of values are bounded`() {
        let deep = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
        #expect(throws: JSONError.self) { _ = try JSONValue(parsing: deep) }
        let wide = "[" + Array(repeating: "1", count: 200).joined(separator: ",") + "]"
        #expect(throws: JSONError.self) { _ = try JSONValue(parsing: wide, limits: JSONLimits(values: 100)) }
    }

    @Test(
        arguments: [
            ("1", 1), ("1.0", 1), ("1e3", 1000), ("-7", -7), ("1.5", nil), ("1e400", nil), ("9223372036854775808", nil),
            ("9223372036854775807", Int64.max),
        ] as [(String, Int64?)]
    )
    func `whole numbers are recognised in any spelling`(text: String, value: Int64?) throws {
        #expect(try JSONValue(parsing: text).integerValue == value)
    }

    @Test func `the writer keeps non-ASCII text raw and escapes only what it must`() {
        let value: JSONValue = ["text": "æ/\"\\\n\u{01}😀"]
        #expect(value.text == "{\"text\":\"æ/\\\"\\\\\\n\\u0001😀\"}")
    }
}
