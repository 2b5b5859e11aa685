import ServiceRuntime

@main
struct PushSimulatorService {
    static func main() {
        ServiceMain.run(name: "push-simulator", configure: SimulatorConfig.init(reading:)) { config, service in
            let wiring = try await SimulatorWiring(config, telemetry: service.telemetry)
            service.task("simulator") { stop in await stop.wait() }
            service.cleanup { await wiring.close() }
        }
    }
}
