import HTTPServer
import Kernel
import Notifications

/// Registration of devices (G1, G2).
///
/// Without a valid access token a call reaches only rows tied to nobody, and is answered the same as with one: a device id
/// is no secret, so knowing one must not be enough to touch its owner's rows.
struct DeviceTokenRoutes: Sendable {
    static let path = "/api/v1/notifications/device-token"

    let devices: any DeviceDirectory
    let limiter: RegistrationLimiter
    let defaults: DeviceDefaults

    var endpoints: [Endpoint] {
        [
            Endpoint(.post, Self.path, access: .optionalUser, summary: "Register a device or renew what is known of it")
            {
                try await register($0, $1)
            }
            .described(.registerDevice),
            Endpoint(
                .delete,
                Self.path + "/{token}",
                access: .optionalUser,
                summary: "Remove the caller's own device with this token"
            ) { try await unregister($0, $1) }
            .described(.unregisterDevice),
        ]
    }

    private func register(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPResponse {
        if let seconds = limiter.take(request.remoteAddress) {
            throw Problem.tooManyRegistrations(retryAfter: seconds)
        }
        let device = try DeviceRegistration(reading: request, defaults: defaults)
        if case .user(let user) = caller {
            try await devices.register(device, for: user)
        } else if device.token != nil {
            try await devices.registerAnonymously(device)
        }
        guard device.token != nil else { return .data(.null) }
        // Only what the caller sent, so that the answer tells nothing of what was stored before.
        return .data([
            "deviceId": .optional(device.deviceID), "platform": .string(device.platform),
            "provider": .string(device.provider.rawValue), "environment": .string(device.environment.rawValue),
            "permissionStatus": .optional(device.permission?.rawValue),
        ])
    }

    private func unregister(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPResponse {
        guard case .user(let user) = caller, let given = request.parameters["token"] else { return .noContent }
        // A token may have been registered under a provider that its looks do not tell.
        for provider in PushProvider.allCases where provider == .fcm || PushToken.provider(of: given) == provider {
            try await devices.unregister(token: PushToken.normalised(given, provider), provider: provider, of: user)
        }
        return .noContent
    }
}
