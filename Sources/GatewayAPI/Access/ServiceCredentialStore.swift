import Kernel
package import Observability
import Synchronization

/// The service credentials in use, which can be read again while the process runs.
package final class ServiceCredentialStore: Sendable {
    private let current: Mutex<ServiceCredentials>
    private let read: @Sendable () throws -> [UInt8]
    private let logger: Logger
    private let failures: Counter

    /// Reads the credentials for the first time.
    /// - Parameter read: gives the file's bytes.
    /// - Throws: what `read` throws, or `ServiceCredentials.FileError`.
    package init(telemetry: Telemetry, read: @escaping @Sendable () throws -> [UInt8]) throws {
        self.read = read
        logger = telemetry.logger
        failures = telemetry.metrics.counter(
            "gateway_credentials_reload_failures_total",
            help: "Service credential files that could not be read again; the former ones stay in use."
        )
        current = Mutex(try ServiceCredentials(parsing: read()))
    }

    package var credentials: ServiceCredentials { current.withLock { $0 } }

    /// Reads the file again; a file that is wrong changes nothing.
    package func reload() {
        do {
            let fresh = try ServiceCredentials(parsing: read())
            current.withLock { $0 = fresh }
            logger.info("service credentials read again")
        } catch {
            failures.increment()
            logger.error("service credentials not read again", ["error": .error(error)])
        }
    }
}
