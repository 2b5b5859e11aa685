import Notifications

/// Which devices a run sends to: never one that took the message, or that is lost to it.
///
/// A message that ended `failed` runs again when a person lets it, after having mended what it failed for (or when its worker was
/// killed before its job was ended): every device that is still there begins anew. A token that was refused as dead is not there
/// any more.
struct DevicePlan: Sendable {
    let devices: [RecipientDevice]
    /// What earlier runs left, with devices that are gone marked as such.
    let before: [Int64: DeviceDelivery]

    init(recipient: Recipient, limit: Int) {
        var before = recipient.stored?.deliveries ?? [:]
        let live = Set(recipient.devices.map(\.id))
        if recipient.stored?.status == .failed { before = before.filter { !live.contains($0.key) } }
        for (id, delivery) in before where delivery.isOutstanding(limit: limit) && !live.contains(id) {
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
}
