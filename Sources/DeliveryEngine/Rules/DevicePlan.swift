import Kernel
import Notifications

/// Which devices a run sends to: never one that took the message, or that is lost to it.
///
/// A message that ended `failed` runs again when a person lets it, after having mended what it failed for (or when its worker was
/// killed before its job was ended): every device that is still there begins anew, unless it took the message after all (a worker
/// that lost its lock records what was accepted), may have, or still has the token that was refused as dead.
struct DevicePlan: Sendable {
    let devices: [RecipientDevice]
    /// What earlier runs left, with devices that are gone marked as such.
    let before: [Int64: DeviceDelivery]

    init(recipient: Recipient, limit: Int) {
        var before = recipient.stored?.deliveries ?? [:]
        let registrations = Dictionary(
            recipient.devices.map { ($0.id, $0.registeredAt) },
            uniquingKeysWith: { first, _ in first }
        )
        if recipient.stored?.status == .failed {
            before = before.filter { $0.value.isFinal(registeredAt: registrations[$0.key]) }
        }
        for (id, delivery) in before where delivery.isOutstanding(limit: limit) && registrations[id] == nil {
            // An unknown send to a device that is gone stays unknown: the push may be on its way.
            if delivery.state == .retry { before[id]?.state = .dead } else { before[id]?.attempts = limit }
            before[id]?.reason = delivery.reason ?? "device_gone"
        }
        let onlyOutstanding = recipient.stored?.status == .sent
        devices = recipient.devices.filter { device in
            guard let delivery = before[device.id] else { return !onlyOutstanding }
            return delivery.isOutstanding(limit: limit)
        }
        self.before = before
    }

    /// What is known of a failed message's devices when it runs again later: those that may try again have all their attempts.
    static func begunAnew(_ recipient: Recipient) -> [Int64: DeviceDelivery] {
        var known = DevicePlan(recipient: recipient, limit: 1).before
        for device in (recipient.stored?.deliveries ?? [:]).keys where known[device] == nil {
            known[device] = DeviceDelivery(state: .retry, attempts: 0)
        }
        return known
    }
}

extension DeviceDelivery {
    /// Whether a message that failed need not try this device again.
    /// - Parameter moment: when the device registered the token it has now, `nil` for a device that is gone.
    fileprivate func isFinal(registeredAt moment: Timestamp?) -> Bool {
        guard let moment else { return true }
        return switch state {
        case .accepted, .unknown: true
        case .dead: goneBefore.map { moment < $0 } ?? false
        case .retry: false
        }
    }
}
