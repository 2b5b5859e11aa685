import CCurl
import Glibc

/// The thread of a client: begins requests, lets libcurl work, ends them. Nothing here is touched by another thread.
struct FetchLoop {
    /// The longest wait of one turn: a lost wake-up would cost no more than this.
    private static let turn: Int32 = 1000

    let mailbox: FetchMailbox
    let options: FetchOptions

    func run() {
        blockSignals()
        guard LibCurl.isReady, let multi = curl_multi_init() else { return mailbox.finish() }
        shim_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.concurrency)
        mailbox.began(multi)
        var active: [UnsafeMutableRawPointer: Transfer] = [:]
        while !mailbox.isClosed {
            begin(multi, &active)
            for transfer in active.values.filter(\.order.ticket.isCancelled) {
                end(transfer, .failure(.cancelled), multi, &active)
            }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            collect(multi, &active)
            curl_multi_poll(multi, nil, 0, Self.turn, nil)
        }
        for transfer in active.values { end(transfer, .failure(.closed), multi, &active) }
        mailbox.finish()
        curl_multi_cleanup(multi)
    }

    private func begin(_ multi: UnsafeMutableRawPointer, _ active: inout [UnsafeMutableRawPointer: Transfer]) {
        for order in mailbox.take(options.concurrency - active.count) {
            do throws(FetchError) {
                let transfer = try Transfer(order, options: options)
                guard curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
                    throw FetchError(.libraryFailed, "libcurl took no more requests")
                }
                active[transfer.easy] = transfer
            } catch {
                order.completion(.failure(error))
            }
        }
    }

    private func collect(_ multi: UnsafeMutableRawPointer, _ active: inout [UnsafeMutableRawPointer: Transfer]) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = active[easy]
            else { continue }
            // The message is gone once the handle is taken out.
            let result = transfer.result(shim_curl_result(message))
            end(transfer, result, multi, &active)
        }
    }

    private func end(
        _ transfer: Transfer,
        _ result: Result<FetchResponse, FetchError>,
        _ multi: UnsafeMutableRawPointer,
        _ active: inout [UnsafeMutableRawPointer: Transfer]
    ) {
        curl_multi_remove_handle(multi, transfer.easy)
        active[transfer.easy] = nil
        transfer.order.completion(result)
    }

    /// Signals belong to the main thread.
    private func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }
}

/// libcurl's own start, once for the process.
private enum LibCurl {
    static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
