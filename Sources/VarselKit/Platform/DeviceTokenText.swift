public import Foundation

extension TokenSync.Event {
    /// The token as `didRegisterForRemoteNotificationsWithDeviceToken` gives it.
    public static func deviceToken(_ token: Data) -> TokenSync.Event { .tokenChanged(token.hexadecimal) }

    /// The token as ActivityKit's `pushToStartTokenUpdates` gives it.
    public static func pushToStartToken(_ token: Data) -> TokenSync.Event {
        .pushToStartTokenChanged(token.hexadecimal)
    }
}

extension Data {
    /// Two lower-case digits a byte: the form in which the gateway takes Apple's tokens.
    public var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        .joined()
    }
}
