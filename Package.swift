// swift-tools-version: 6.3
import PackageDescription

// Targets stand in layers, from the ground up; an arrow (a dependency) only ever points down.
// docs/modules.md has a paragraph for each, and scripts/check-arrows holds the rules.

let package = Package(
    name: "varsel",
    products: [
        .library(name: "NotificationContract", targets: ["NotificationContract"]),
        .library(name: "RateLimiter", targets: ["RateLimiter"]),
        .library(name: "VarselKit", targets: ["VarselKit"]),
        .executable(name: "api-gateway", targets: ["APIGateway"]),
        .executable(name: "delivery-worker", targets: ["DeliveryWorker"]),
        .executable(name: "campaign-producer", targets: ["CampaignProducer"]),
        .executable(name: "lifecycle-producer", targets: ["LifecycleProducer"]),
        .executable(name: "push-simulator", targets: ["PushSimulatorService"]),
        .executable(name: "varselctl", targets: ["VarselCtl"]),
        .executable(name: "reminder-producer", targets: ["ReminderProducer"]),
    ],
    targets: [
        // C libraries: a module map and a shim header, nothing else.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "CLibpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CMicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CSystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CMalloc"),

        // Text files (Lua, SQL, JSON) become string constants at build time.
        .executableTarget(name: "EmbedText", path: "Sources/Build/EmbedText"),
        .plugin(
            name: "EmbedTextPlugin",
            capability: .buildTool(),
            dependencies: ["EmbedText"],
            path: "Sources/Build/EmbedTextPlugin"
        ),

        // 1 ground
        .target(name: "Kernel"),
        .target(name: "NotificationContract"),

        // 2 domain, and beside it Observability and Signing
        .target(
            name: "Notifications",
            dependencies: ["Kernel", "NotificationContract"],
            exclude: ["Texts"],
            plugins: ["EmbedTextPlugin"]
        ),
        .target(name: "VarselKit", dependencies: ["NotificationContract"]),
        .target(name: "Observability", dependencies: ["Kernel"]),
        .target(name: "Signing", dependencies: ["Kernel", "COpenSSL"]),

        // 3 technical: one library each, no notion of notifications
        .target(name: "ServiceRuntime", dependencies: ["Kernel", "Observability", "CSystemd", "CMalloc"]),
        .target(name: "RedisClient", dependencies: ["Kernel", "Observability", "CHiredis"]),
        .target(name: "PostgresClient", dependencies: ["Kernel", "Observability", "CLibpq"]),
        .target(name: "HTTPServer", dependencies: ["Kernel", "Observability", "CMicrohttpd"]),
        .target(name: "HTTP2", dependencies: ["Kernel", "Observability", "COpenSSL", "CNghttp2"]),
        .target(name: "HTTPFetch", dependencies: ["Kernel", "Observability", "CCurl"]),

        // 4 platform
        .target(
            name: "JobQueue",
            dependencies: ["Kernel", "Observability", "RedisClient"],
            exclude: ["Lua"],
            plugins: ["EmbedTextPlugin"]
        ),
        .target(
            name: "RateLimiter",
            dependencies: ["Kernel", "Observability", "RedisClient"],
            exclude: ["Lua"],
            plugins: ["EmbedTextPlugin"]
        ),
        .target(
            name: "Store",
            dependencies: ["Kernel", "Observability", "PostgresClient", "Notifications"],
            exclude: ["Migrations"],
            plugins: ["EmbedTextPlugin"]
        ),
        .target(
            name: "PushTransport",
            dependencies: [
                "Kernel", "Observability", "Signing", "HTTP2", "HTTPFetch", "Notifications", "NotificationContract",
            ]
        ),
        .target(
            name: "PushSimulator",
            dependencies: ["Kernel", "Observability", "Signing", "HTTP2", "HTTPServer"]
        ),

        // 5 application
        .target(name: "NotificationBus", dependencies: ["Kernel", "Observability", "Notifications", "JobQueue"]),
        .target(
            name: "DeliveryEngine",
            dependencies: ["Kernel", "Observability", "Notifications", "NotificationContract", "NotificationBus"]
        ),
        .target(
            name: "DeliveryAdapters",
            dependencies: [
                "Kernel", "Observability", "Signing", "ServiceRuntime", "RedisClient", "PostgresClient",
                "Notifications",
                "NotificationContract", "JobQueue", "RateLimiter", "Store", "PushTransport", "NotificationBus",
                "DeliveryEngine",
            ]
        ),
        .target(
            name: "Producers",
            dependencies: [
                "Kernel", "Observability", "Notifications", "NotificationContract", "Signing", "HTTPFetch",
                "PostgresClient", "JobQueue", "Store", "NotificationBus", "DeliveryEngine", "ServiceRuntime",
            ]
        ),
        .target(
            name: "GatewayAPI",
            dependencies: [
                "Kernel", "Observability", "Notifications", "NotificationContract", "Signing", "PostgresClient",
                "HTTPServer", "HTTPFetch", "JobQueue", "RateLimiter", "Store", "PushTransport", "NotificationBus",
                "DeliveryEngine",
                "Producers",
            ]
        ),

        // Processes: wiring only.
        .executableTarget(
            name: "APIGateway",
            dependencies: [
                "Kernel", "Observability", "ServiceRuntime", "RedisClient", "PostgresClient", "HTTPServer", "Signing",
                "JobQueue", "RateLimiter", "Store", "PushTransport", "Notifications", "NotificationBus",
                "DeliveryEngine", "DeliveryAdapters", "Producers", "NotificationContract", "GatewayAPI",
            ],
            path: "services/api-gateway",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "DeliveryWorker",
            dependencies: [
                "Kernel", "Observability", "ServiceRuntime", "RedisClient", "PostgresClient", "HTTPServer", "JobQueue",
                "RateLimiter", "Store", "PushTransport", "Signing", "HTTP2", "Notifications", "NotificationBus",
                "DeliveryEngine", "DeliveryAdapters",
            ],
            path: "services/delivery-worker",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "LifecycleProducer",
            dependencies: [
                "Kernel", "Observability", "ServiceRuntime", "PostgresClient", "HTTPServer", "HTTPFetch", "JobQueue",
                "Store", "Notifications", "NotificationBus", "DeliveryAdapters", "Producers",
            ],
            path: "services/lifecycle-producer",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "PushSimulatorService",
            dependencies: ["Kernel", "Observability", "ServiceRuntime", "HTTPServer", "PushSimulator", "Signing"],
            path: "services/push-simulator",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "ReminderProducer",
            dependencies: [
                "ServiceRuntime", "Store", "Notifications", "NotificationContract", "NotificationBus",
                "DeliveryAdapters", "Producers", "Kernel", "Observability",
            ],
            path: "services/reminder-producer",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "CampaignProducer",
            dependencies: [
                "Kernel", "Observability", "ServiceRuntime", "PostgresClient", "HTTPServer", "JobQueue", "Store",
                "DeliveryAdapters", "Producers", "Notifications", "NotificationContract",
            ],
            path: "services/campaign-producer",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "VarselCtl",
            dependencies: [
                "Kernel", "Observability", "ServiceRuntime", "RedisClient", "PostgresClient", "JobQueue", "Store",
                "Signing", "Notifications", "NotificationContract", "RateLimiter", "GatewayAPI", "DeliveryAdapters",
                "PushTransport",
            ],
            path: "services/varselctl",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "Bench",
            dependencies: [
                "Kernel", "Observability", "RedisClient", "PostgresClient", "JobQueue", "Notifications",
                "NotificationBus", "Store", "Producers", "PushTransport", "Signing", "VarselKit",
            ],
            path: "scripts/bench.d/Sources"
        ),

        // Tests
        .target(
            name: "TestSupport",
            dependencies: ["Kernel", "Observability", "RedisClient", "PostgresClient"]
        ),
        .testTarget(name: "KernelTests", dependencies: ["Kernel", "TestSupport"]),
        .testTarget(
            name: "NotificationsTests",
            dependencies: ["Notifications", "NotificationContract", "Kernel", "TestSupport"]
        ),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: ["Observability", "ServiceRuntime", "Kernel", "TestSupport"]
        ),
        .testTarget(name: "SigningTests", dependencies: ["Signing", "Kernel", "TestSupport"]),
        .testTarget(
            name: "RedisClientTests",
            dependencies: ["RedisClient", "Kernel", "Observability", "TestSupport"]
        ),
        .testTarget(
            name: "PostgresClientTests",
            dependencies: ["PostgresClient", "Kernel", "Observability", "TestSupport"]
        ),
        .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "Kernel", "Observability", "TestSupport"]),
        .testTarget(
            name: "HTTPFetchTests",
            dependencies: ["HTTPFetch", "HTTPServer", "Signing", "Kernel", "Observability", "TestSupport"]
        ),
        .testTarget(
            name: "HTTP2Tests",
            dependencies: ["HTTP2", "Signing", "Kernel", "Observability", "TestSupport"]
        ),
        .testTarget(
            name: "JobQueueTests",
            dependencies: ["JobQueue", "RedisClient", "Kernel", "Observability", "TestSupport"],
            exclude: ["Peers"]
        ),
        .testTarget(
            name: "RateLimiterTests",
            dependencies: ["RateLimiter", "RedisClient", "Kernel", "Observability", "TestSupport"]
        ),
        .testTarget(
            name: "StoreTests",
            dependencies: ["Store", "PostgresClient", "Notifications", "Kernel", "Observability", "TestSupport"]
        ),
        .testTarget(
            name: "PushTransportTests",
            dependencies: [
                "PushTransport", "PushSimulator", "HTTP2", "HTTPFetch", "HTTPServer", "Signing", "Notifications",
                "Kernel",
                "Observability", "TestSupport",
            ],
            exclude: ["Peers"]
        ),
        .testTarget(
            name: "NotificationBusTests",
            dependencies: [
                "NotificationBus", "NotificationContract", "Notifications", "JobQueue", "RedisClient", "Kernel",
                "Observability", "Signing", "TestSupport",
            ]
        ),
        .testTarget(
            name: "DeliveryEngineTests",
            dependencies: [
                "DeliveryEngine", "Notifications", "NotificationBus", "Kernel", "Observability", "TestSupport",
            ]
        ),
        .testTarget(
            name: "VarselKitTests",
            dependencies: ["VarselKit", "NotificationContract"],
            exclude: ["Peers"]
        ),
        .testTarget(
            name: "ProducersTests",
            dependencies: [
                "Producers", "NotificationBus", "Notifications", "NotificationContract", "JobQueue", "Store", "Signing",
                "HTTPFetch", "HTTPServer", "RedisClient", "PostgresClient", "DeliveryEngine", "Kernel",
                "Observability", "TestSupport",
            ],
            exclude: ["Peers"]
        ),
        .testTarget(
            name: "GatewayAPITests",
            dependencies: [
                "GatewayAPI", "Producers", "DeliveryEngine", "DeliveryAdapters", "PushTransport", "RateLimiter",
                "NotificationBus", "NotificationContract",
                "Notifications", "JobQueue", "Store", "Signing", "HTTPFetch", "HTTPServer", "RedisClient",
                "PostgresClient",
                "Kernel",
                "Observability", "PushSimulator", "TestSupport",
            ],
            exclude: ["Mirror/mirror.json"]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "DeliveryAdapters", "DeliveryEngine", "NotificationBus", "Notifications", "JobQueue", "RateLimiter",
                "Store", "PushTransport", "PushSimulator", "Signing", "HTTP2", "HTTPFetch", "HTTPServer", "Producers",
                "RedisClient", "PostgresClient", "NotificationContract", "VarselKit", "Kernel", "Observability",
                "TestSupport",
                // Only so that the binaries the tests start are built with them.
                "DeliveryWorker", "APIGateway", "PushSimulatorService", "VarselCtl", "ReminderProducer",
                "LifecycleProducer", "CampaignProducer",
            ],
            exclude: ["Peers"]
        ),
    ],
    swiftLanguageModes: [.v6]
)

/// One set of settings for every Swift target: the strictest the toolchain offers without unsafe flags.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
]

for target in package.targets where ![.system, .plugin].contains(target.type) {
    target.swiftSettings = settings
}
