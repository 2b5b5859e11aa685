import HTTPServer
import Kernel

extension HTTPResponse {
    /// `{"data": …}`, the envelope of every successful answer with a body.
    static func data(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        .json(["data": value], status: status)
    }
}
