import Testing

@testable import PushTransport

struct DeviceTokenTests {
    @Test(arguments: [
        ("<AB CD ef 01>", "abcdef01"), (String(repeating: "a1", count: 80), String(repeating: "a1", count: 80)),
    ])
    func `a token is normalised`(_ text: String, _ token: String) {
        #expect(DeviceToken.normalised(text) == token)
    }

    @Test(arguments: ["", "(null)", "abc", "xyz0", "<>", "ab-cd", "abcdé0", String(repeating: "a", count: 402)])
    func `what is no token is refused`(_ text: String) {
        #expect(DeviceToken.normalised(text) == nil)
    }
}
