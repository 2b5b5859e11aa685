import ServiceRuntime

/// The front door of the platform: apps, backends and operators.
@main
struct APIGateway {
    static func main() {
        ServiceMain.run(name: "api-gateway", configure: GatewayConfig.init(reading:)) { config, service in
            let wiring = try await Wiring(config, service: service)
            service.task("http") { stop in await wiring.serve(until: stop) }
            service.task("erasures") { stop in await wiring.erase(until: stop) }
            service.task("watch") { stop in await wiring.watch(until: stop) }
            service.onReload { wiring.reload() }
            service.cleanup { await wiring.close() }
        }
    }
}
