@main
struct VarselCtl {
    static func main() {}
}
