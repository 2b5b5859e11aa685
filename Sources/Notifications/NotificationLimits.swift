/// Bounds on what a producer may hand over, in UTF-8 bytes unless said otherwise.
package enum NotificationLimits {
    package static let body = 4096
    package static let title = 512
    package static let deeplink = 1024
    package static let metadata = 8192
    package static let sourceEntityID = 64
    package static let languageCode = 35
    package static let batchReference = 128
    package static let catalogVariables = 16
    package static let catalogVariable = 256
    /// How far ahead a notification may be scheduled.
    package static let horizon = Duration.seconds(90 * 86_400)
}
