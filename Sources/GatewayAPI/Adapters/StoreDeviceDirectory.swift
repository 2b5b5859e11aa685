package import Notifications
package import Store

/// The directory of devices in PostgreSQL.
package struct StoreDeviceDirectory: DeviceDirectory {
    private let store: DeviceStore

    package init(_ store: DeviceStore) {
        self.store = store
    }

    package func register(_ device: DeviceRegistration, for user: UserID) async throws {
        try await asking { try await store.register(DeviceRecord(device), for: user) }
    }

    package func registerAnonymously(_ device: DeviceRegistration) async throws {
        try await asking { try await store.registerAnonymously(DeviceRecord(device)) }
    }

    package func unregister(token: String, provider: PushProvider, of user: UserID) async throws {
        try await asking { try await store.unregister(token: token, provider: provider, of: user) }
    }
}

extension DeviceRecord {
    fileprivate init(_ device: DeviceRegistration) {
        self.init(
            deviceID: device.deviceID,
            provider: device.provider,
            platform: device.platform,
            token: device.token,
            environment: device.environment,
            topic: device.topic,
            permission: device.permission.map(Permission.init),
            timezone: device.timezone,
            pushToStartToken: device.pushToStartToken,
            voipToken: device.voipToken
        )
    }
}

extension DeviceRecord.Permission {
    init(_ status: PermissionStatus) {
        self =
            switch status {
            case .granted: .granted
            case .provisional: .provisional
            case .ephemeral: .ephemeral
            case .denied: .denied
            case .notDetermined: .notDetermined
            }
    }
}
