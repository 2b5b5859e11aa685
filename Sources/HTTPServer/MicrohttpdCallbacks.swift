import CMicrohttpd

// The functions libmicrohttpd calls, on its own threads. A request passes here in steps: its line, its head (first call of
// `onRequest`), pieces of its body, its end, and once more when the suspended connection is resumed with an answer.

private func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer? {
    context.map { Unmanaged<HTTPServer>.fromOpaque($0).takeUnretainedValue() }
}

private func record(_ handle: OpaquePointer?) -> HTTPConnection? {
    shim_mhd_socket_context(handle).map { Unmanaged<HTTPConnection>.fromOpaque($0).takeUnretainedValue() }
}

/// A connection began or is about to be closed.
func onConnectionChange(
    _ context: UnsafeMutableRawPointer?,
    _ handle: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let server = server(context), let handle, let slot else { return }
    if shim_mhd_is_start(change) != 0 {
        let connection = HTTPConnection(
            handle: handle,
            descriptor: shim_mhd_socket(handle),
            // A Unix socket has no address; its peer counts as this machine.
            peer: shim_mhd_client_address(handle).flatMap { IPAddress($0) } ?? IPAddress(ipv4: [127, 0, 0, 1]),
            now: server.clock.now
        )
        slot.pointee = Unmanaged.passRetained(connection).toOpaque()
        server.opened(connection)
    } else if let pointer = slot.pointee {
        slot.pointee = nil
        server.closed(Unmanaged<HTTPConnection>.fromOpaque(pointer).takeRetainedValue())
    }
}

/// A request line arrived; the target is still as it was sent.
func onRequestLine(
    _ context: UnsafeMutableRawPointer?,
    _ target: UnsafePointer<CChar>?,
    _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let server = server(context), let connection = record(handle), let target else { return nil }
    connection.begin(target: String(cString: target), now: server.clock.now)
    return nil
}

/// An answer went out, or the connection broke before it could.
func onCompleted(
    _ context: UnsafeMutableRawPointer?,
    _ handle: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let server = server(context), let connection = record(handle) else { return }
    server.takenUp(connection)
    server.budget.giveBack(connection.rest(now: server.clock.now))
}

/// One step of a request.
func onRequest(
    _ context: UnsafeMutableRawPointer?,
    _ handle: OpaquePointer?,
    _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?,
    _ piece: UnsafePointer<CChar>?,
    _ pieceSize: UnsafeMutablePointer<Int>?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let server = server(context), let handle, let connection = record(handle), let method, let pieceSize, let slot
    else { return .NO }
    let exchange = Exchange(server: server, connection: connection, handle: handle)
    if slot.pointee == nil {
        // Any value but nil marks the request as begun.
        slot.pointee = handle.rawPointer
        return exchange.headArrived(method: String(cString: method))
    }
    if pieceSize.pointee > 0, let piece {
        let bytes = UnsafeRawBufferPointer(start: piece, count: pieceSize.pointee)
        pieceSize.pointee = 0
        return exchange.bodyArrived(bytes)
    }
    return exchange.proceed()
}

extension OpaquePointer {
    fileprivate var rawPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self) }
}
