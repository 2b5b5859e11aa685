import Kernel
import Notifications
import Testing

@testable import DeliveryEngine

struct DevicePlanTests {
    private func recipient(_ status: MessageStatus, _ deliveries: [Int64: DeviceDelivery]) -> Recipient {
        var recipient = MemoryPorts.reachable
        recipient.devices = [1, 2].map { id in
            RecipientDevice(
                id: id,
                provider: .apns,
                token: "aa",
                environment: .production,
                topic: "app",
                registeredAt: Timestamp(milliseconds: 0)
            )
        }
        recipient.stored = StoredMessage(
            userID: "u",
            category: "reminder",
            status: status,
            weekKey: "2026-W49",
            deliveries: deliveries
        )
        return recipient
    }

    @Test func `a run goes on with the devices that are outstanding, and with no other (E10)`() {
        let deliveries: [Int64: DeviceDelivery] = [
            1: DeviceDelivery(state: .dead, attempts: 1, reason: "BadTopic"),
            2: DeviceDelivery(state: .retry, attempts: 4),
        ]
        let plan = DevicePlan(recipient: recipient(.pending, deliveries), limit: 5)
        #expect(plan.devices.map(\.id) == [2])
        #expect(plan.before == deliveries)
    }

    @Test func `a sent message goes only to what is outstanding, not to a device registered since`() {
        let plan = DevicePlan(
            recipient: recipient(.sent, [1: DeviceDelivery(state: .accepted, attempts: 1)]),
            limit: 5
        )
        #expect(plan.devices.isEmpty)
    }

    @Test func `a failed message that is let run again begins anew with every device that is there`() {
        let plan = DevicePlan(
            recipient: recipient(
                .failed,
                [
                    1: DeviceDelivery(state: .dead, attempts: 1, reason: "TopicDisallowed"),
                    2: DeviceDelivery(state: .retry, attempts: 5, reason: "InternalServerError"),
                    9: DeviceDelivery(state: .dead, attempts: 1, reason: "Unregistered"),
                ]
            ),
            limit: 5
        )
        #expect(plan.devices.map(\.id) == [1, 2])
        #expect(plan.before == [9: DeviceDelivery(state: .dead, attempts: 1, reason: "Unregistered")])
    }

    @Test func `a failed message spares who took it, may have, or is dead still (E10, E9)`() {
        let registered = Timestamp(milliseconds: 0)
        let kept: [DeviceDelivery] = [
            DeviceDelivery(state: .accepted, attempts: 1),
            DeviceDelivery(state: .unknown, attempts: 5, reason: "Timeout"),
            DeviceDelivery(
                state: .dead,
                attempts: 1,
                reason: "Unregistered",
                goneBefore: registered + .milliseconds(1)
            ),
        ]
        for delivery in kept {
            let plan = DevicePlan(recipient: recipient(.failed, [1: delivery]), limit: 5)
            #expect(plan.devices.map(\.id) == [2])
            #expect(plan.before == [1: delivery])
        }
    }

    @Test func `a device that registered a new token after the old one died is tried again`() {
        let died = DeviceDelivery(
            state: .dead,
            attempts: 1,
            reason: "Unregistered",
            goneBefore: Timestamp(milliseconds: 0)
        )
        let plan = DevicePlan(recipient: recipient(.failed, [1: died]), limit: 5)
        #expect(plan.devices.map(\.id) == [1, 2])
        #expect(plan.before.isEmpty)
    }

    @Test func `what may have arrived on a device that is gone stays unknown`() {
        let plan = DevicePlan(
            recipient: recipient(.pending, [9: DeviceDelivery(state: .unknown, attempts: 1)]),
            limit: 5
        )
        #expect(plan.before[9] == DeviceDelivery(state: .unknown, attempts: 5, reason: "device_gone"))
    }
}
