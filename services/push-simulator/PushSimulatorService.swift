@main
struct PushSimulatorService {
    static func main() {}
}
