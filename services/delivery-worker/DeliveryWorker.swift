import ServiceRuntime

/// Carries notifications from the queue to the devices. Start more of them to go faster.
@main
struct DeliveryWorker {
    static func main() {
        ServiceMain.run(name: "delivery-worker", configure: WorkerConfig.init(reading:)) { config, service in
            let wiring = try await Wiring(config, service: service)
            service.task("engine") { stop in await wiring.deliver(until: stop) }
            service.task("watch") { stop in await wiring.watch(until: stop) }
            service.cleanup { await wiring.close() }
        }
    }
}
