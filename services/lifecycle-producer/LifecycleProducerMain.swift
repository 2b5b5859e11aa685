import ServiceRuntime

/// Turns what the App Store says about subscriptions into account notices.
@main
struct LifecycleProducerMain {
    static func main() {
        ServiceMain.run(name: "lifecycle-producer", configure: LifecycleConfig.init(reading:)) { config, service in
            let wiring = try await Wiring(config, service: service)
            service.task("jobs") { stop in try await wiring.work(until: stop) }
            service.task("outbox") { stop in await wiring.resend(until: stop) }
            service.task("ends") { stop in await wiring.announceEnds(until: stop) }
            service.task("watch") { stop in await wiring.watch(until: stop) }
            service.cleanup { await wiring.close() }
        }
    }
}
