@main
struct APIGateway {
    static func main() {}
}
