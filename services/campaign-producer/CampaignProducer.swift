import ServiceRuntime

/// Begins campaigns at their time and hands them to the delivery queue, chunk by chunk.
@main
struct CampaignProducer {
    static func main() {
        ServiceMain.run(name: "campaign-producer", configure: CampaignConfig.init(reading:)) { config, service in
            let wiring = try await Wiring(config, service: service)
            service.task("conductor") { stop in await wiring.conduct(until: stop) }
            service.task("fan-out") { stop in try await wiring.fanOut(until: stop) }
            service.task("watch") { stop in await wiring.watch(until: stop) }
            service.cleanup { await wiring.close() }
        }
    }
}
