// Apple's notification center in terms of this library: it translates and decides nothing.
#if canImport(UserNotifications)
    public import Foundation
    public import UserNotifications

    extension ActionRegistry {
        /// The set for `UNUserNotificationCenter.setNotificationCategories`.
        public func notificationCategories(languages: [String] = Locale.preferredLanguages) -> Set<
            UNNotificationCategory
        > {
            Set(
                categories.map { category in
                    UNNotificationCategory(
                        identifier: category.rawValue,
                        actions: actions(of: category).map { action in
                            UNNotificationAction(
                                identifier: action.id,
                                title: action.title.text(preferring: languages),
                                options: [.foreground]
                            )
                        },
                        intentIdentifiers: []
                    )
                }
            )
        }
    }

    extension ForegroundPresentation {
        /// For `userNotificationCenter(_:willPresent:)`.
        public var options: UNNotificationPresentationOptions {
            var options: UNNotificationPresentationOptions = []
            if contains(.banner) { options.insert(.banner) }
            if contains(.list) { options.insert(.list) }
            if contains(.sound) { options.insert(.sound) }
            if contains(.badge) { options.insert(.badge) }
            return options
        }
    }

    extension PushPermission {
        /// What the system says.
        public init(_ status: UNAuthorizationStatus) {
            switch status {
            case .authorized: self = .granted
            case .provisional: self = .provisional
            case .denied: self = .denied
            #if os(iOS)
                case .ephemeral: self = .ephemeral
            #endif
            default: self = .notDetermined
            }
        }
    }

    extension PendingRequest {
        /// What the system holds.
        public init(_ request: UNNotificationRequest) {
            self.init(
                identifier: request.identifier,
                fireDate: (request.trigger as? UNCalendarNotificationTrigger)?.nextTriggerDate(),
                title: request.content.title,
                body: request.content.body
            )
        }
    }

    extension WindowRequest {
        /// For `UNUserNotificationCenter.add`. The trigger names the instant by the UTC clock, so a change of zone does not move it.
        public var notificationRequest: UNNotificationRequest {
            let content = UNMutableNotificationContent()
            content.title = title
            content.body = body
            content.sound = .default
            content.interruptionLevel = .active
            content.userInfo = occurrence.userInfo
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            var parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: fireDate)
            parts.calendar = calendar
            parts.timeZone = .gmt
            return UNNotificationRequest(
                identifier: identifier,
                content: content,
                trigger: UNCalendarNotificationTrigger(dateMatching: parts, repeats: false)
            )
        }
    }
#endif
