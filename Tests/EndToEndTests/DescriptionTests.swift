import Foundation
import Testing

/// The API's description judged by tools that nobody here wrote, and the gateway by its description.
struct DescriptionTests {
    @Test func `the description is valid OpenAPI, and a live gateway holds to it (G11)`() async throws {
        try await Stage.run { stage in
            let gateway = try await StageGateway.start(stage, ["GATEWAY_REGISTRATIONS_PER_MINUTE": "1000000"])
            let address = gateway.address
            let tokens = [
                "USER_TOKEN": gateway.userToken, "SERVICE_TOKEN": gateway.serviceToken,
                "DEV_API_TOKEN": gateway.developerToken,
            ]
            let validator = try PythonPeer("openapi-spec-validator-0.9.0", program: "python")
            let verdict = try await validator.run("validate_openapi.py", ["\(address)/openapi.json"])
            #expect(verdict.contains("valid"))
            let report = try await PythonPeer("schemathesis-4.32.5", program: "schemathesis").run(
                [
                    "--config-file", PythonPeer.folder.appendingPathComponent("schemathesis.toml").path, "run",
                    "\(address)/openapi.json", "--phases", "examples,coverage,fuzzing,stateful", "--max-time", "30",
                    "--workers", "1", "--no-shrink", "--continue-on-failure", "--no-color", "--warnings", "off",
                ],
                environment: tokens,
                in: stage.folder
            )
            #expect(report.contains("No issues found"), "\(report.suffix(4000))")
        }
    }
}
