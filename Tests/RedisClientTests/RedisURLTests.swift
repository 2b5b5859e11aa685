import RedisClient
import Testing

struct RedisURLTests {
    @Test(arguments: [
        ("redis://localhost", RedisURL(address: .tcp(host: "localhost", port: 6379))),
        ("redis://10.0.0.1:6390/3", RedisURL(address: .tcp(host: "10.0.0.1", port: 6390), database: 3)),
        ("redis://[::1]:1/", RedisURL(address: .tcp(host: "::1", port: 1))),
        ("redis://:s%40cret@h", RedisURL(address: .tcp(host: "h", port: 6379), password: "s@cret")),
        ("redis://u:p@h:1", RedisURL(address: .tcp(host: "h", port: 1), user: "u", password: "p")),
        ("unix:///run/redis.sock", RedisURL(address: .unix(path: "/run/redis.sock"))),
        (
            "unix:///r.sock?db=2&user=u&password=p%26",
            RedisURL(address: .unix(path: "/r.sock"), user: "u", password: "p&", database: 2)
        ),
    ])
    func `a URL is read`(text: String, expected: RedisURL) throws {
        #expect(try RedisURL(parsing: text) == expected)
    }

    @Test(arguments: [
        "", "localhost", "http://h", "redis://", "redis://h:0", "redis://h:x", "redis://h/x", "redis://h/-1",
        "redis://h?db=1", "redis://[::1", "unix://relative", "unix:///s?x=1", "redis://:%zz@h", "redis://:%ff@h",
    ])
    func `a URL that is none is refused`(text: String) {
        #expect(throws: RedisError.self) { try RedisURL(parsing: text) }
    }

    @Test func `TLS is refused with a way out`() throws {
        let error = #expect(throws: RedisError.self) { try RedisURL(parsing: "rediss://h:6380") }
        #expect(error?.message.contains("stunnel") == true)
        #expect(error?.message.contains("unix socket") == true)
    }

    @Test func `neither description nor error shows the password`() throws {
        let url = try RedisURL(parsing: "redis://u:hunter2@h:1/4")
        #expect(url.description == "redis://h:1/4")
        let error = #expect(throws: RedisError.self) { try RedisURL(parsing: "redis://u:hunter2@h:port") }
        #expect(error?.description.contains("hunter2") == false)
    }
}
