import Kernel
package import Notifications
import PostgresClient

/// The JSON of `notification_messages.deliveries`: device row id → `{"s": state, "n": attempts, "r": reason, "g": gone before}`, the moment in
/// milliseconds.
package enum DeliveriesJSON {
    package static func encode(_ deliveries: [Int64: DeviceDelivery]) -> String {
        var writer = JSONWriter(capacity: 64)
        writer.object { writer in
            for (device, delivery) in deliveries.sorted(by: { $0.key < $1.key }) {
                writer.name(String(device))
                writer.object { writer in
                    writer.member("s", delivery.state.rawValue)
                    writer.member("n", delivery.attempts)
                    writer.member("r", optional: delivery.reason)
                    if let moment = delivery.goneBefore { writer.member("g", moment.milliseconds) }
                }
            }
        }
        return writer.text
    }

    static func decode(_ value: JSONValue) throws(PostgresError) -> [Int64: DeviceDelivery] {
        var deliveries: [Int64: DeviceDelivery] = [:]
        for member in value.members ?? [] {
            guard let device = Int64(member.name),
                let state = member.value["s"]?.stringValue.flatMap(DeviceDelivery.State.init(rawValue:)),
                let attempts = member.value["n"]?.integerValue
            else { throw PostgresError(.decoding, message: "a delivery cannot be read") }
            deliveries[device] = DeviceDelivery(
                state: state,
                attempts: Int(attempts),
                reason: member.value["r"]?.stringValue,
                goneBefore: member.value["g"]?.integerValue.map { Timestamp(milliseconds: $0) }
            )
        }
        return deliveries
    }
}
