@main
struct DeliveryWorker {
    static func main() {}
}
