import Foundation
import Kernel
import Notifications
import PostgresClient
import Signing
import Store

/// What `gateway.sh` needs from us: access tokens as an app's sign-in service would issue them, and the gateway's own statements
/// as pgbench scripts, so that both sides of the comparison run the same SQL.
struct GatewayBench {
    /// Stand for what pgbench puts in; found again among the bound values.
    private static let userMark = "pgbench-user"
    private static let tokenMark = "pgbench-token"

    private let folder: URL
    private let users: Int
    private let environment: [String: String]

    init(environment: [String: String]) throws {
        self.environment = environment
        guard let folder = environment["BENCH_FOLDER"], let users = environment["BENCH_USERS"].flatMap({ Int($0) })
        else {
            throw BenchError(description: "BENCH_FOLDER and BENCH_USERS must be set")
        }
        self.folder = URL(fileURLWithPath: folder)
        self.users = users
    }

    /// Writes `tokens`, `inbox.sql` and `token.sql` into the folder.
    func prepare() throws {
        try tokens().write(to: folder.appendingPathComponent("tokens"), atomically: true, encoding: .utf8)
        guard let user = UserID(Self.userMark) else { throw BenchError(description: "the mark is no user id") }
        try script([InboxSQL.page(of: user, limit: 20, offset: 0)], name: "inbox.sql")
        let device = DeviceRecord(
            deviceID: "phone",
            provider: .fcm,
            platform: "ios",
            token: Self.tokenMark,
            environment: .production,
            topic: "com.example.impulse",
            permission: .granted,
            timezone: "Europe/Oslo"
        )
        try script(DeviceSQL.registration(device, user: user), name: "token.sql")
    }

    private func tokens() throws -> String {
        guard let file = environment["BENCH_KEY_FILE"], let issuer = environment["JWT_ISSUER"],
            let audience = environment["JWT_AUDIENCE"]
        else { throw BenchError(description: "BENCH_KEY_FILE, JWT_ISSUER and JWT_AUDIENCE must be set") }
        let key = try SigningKey(pem: String(contentsOfFile: file, encoding: .utf8))
        let now = SystemWallClock().now.seconds
        return try (1...users).map { user in
            try JWTSigner.sign(
                header: [JSONMember("typ", "at+jwt")],
                claims: [
                    "iss": .string(issuer), "aud": .string(audience), "sub": .string(String(user)),
                    "iat": .integer(now), "exp": .integer(now + 3600),
                ],
                key: key
            )
        }
        .joined(separator: "\n")
    }

    private func script(_ statements: [SQL], name: String) throws {
        var text = """
            \\set user random(1, \(users))
            \\set token :user * 2 + random(0, 1)

            """
        // Several statements go to the server as the gateway sends them: together, as one implicit transaction.
        if statements.count > 1 { text += "\\startpipeline\n" }
        for statement in statements { text += rendered(statement) + ";\n" }
        if statements.count > 1 { text += "\\endpipeline\n" }
        try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }

    /// The statement with pgbench's variables, or the value itself, in place of its parameters.
    private func rendered(_ statement: SQL) -> String {
        let values = statement.boundTexts
        return statement.text.replacing(/\$([0-9]+)/) { match in
            guard let index = Int(match.1), let value = values[index - 1] else { return "NULL" }
            let isVariable = value.contains(Self.userMark) || value.contains(Self.tokenMark)
            return isVariable ? variable(value) : "'\(value)'"
        }
    }

    private func variable(_ value: String) -> String {
        let name = value.contains(Self.userMark) ? ":user::text" : ":token::text"
        return value.hasPrefix("{") ? "ARRAY[\(name)]" : name
    }
}
