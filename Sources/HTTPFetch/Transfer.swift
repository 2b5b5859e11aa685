import CCurl
import Glibc

/// One request under way: owns libcurl's handle for it and what has arrived. Lives on the client's thread alone.
final class Transfer {
    let order: FetchOrder
    let easy: UnsafeMutableRawPointer
    private var lines: UnsafeMutablePointer<curl_slist>?
    private let options: FetchOptions
    private var head: [UInt8] = []
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var refusedAddress = false
    /// A socket was opened, so a connection was at least tried.
    private var triedAddress = false
    private let errorText: UnsafeMutablePointer<CChar>

    /// - Throws: `libraryFailed` when libcurl makes no handle or refuses an option.
    init(_ order: FetchOrder, options: FetchOptions) throws(FetchError) {
        guard let easy = curl_easy_init() else { throw FetchError(.libraryFailed, "libcurl made no handle") }
        self.order = order
        self.options = options
        self.easy = easy
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try configure()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(lines)
        errorText.deallocate()
    }

    // MARK: Options

    private func configure() throws(FetchError) {
        let request = order.request
        let context = Unmanaged.passUnretained(self).toOpaque()
        let schemes = options.plainHTTP == .nowhere ? "https" : "http,https"
        let isPost = request.method == .post
        var codes = [
            shim_curl_set_pointer(easy, CURLOPT_PRIVATE, context),
            shim_curl_set_pointer(easy, CURLOPT_URL, request.url),
            shim_curl_set_pointer(easy, CURLOPT_PROTOCOLS_STR, schemes),
            // A redirect could lead plain HTTP away from the loopback.
            shim_curl_set_pointer(
                easy,
                CURLOPT_REDIR_PROTOCOLS_STR,
                options.plainHTTP == .anywhere ? schemes : "https"
            ),
            // Signals would be used for timeouts of name look-ups, in a process of many threads.
            shim_curl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            shim_curl_set_pointer(easy, CURLOPT_PROXY, ""),
            shim_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText),
            shim_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            shim_curl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            shim_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connectTimeout)),
            shim_curl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds(request.timeout ?? options.totalTimeout)),
            shim_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, options.redirects > 0 && !isPost ? 1 : 0),
            shim_curl_set_long(easy, CURLOPT_MAXREDIRS, options.redirects),
            shim_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION, receiveBody),
            shim_curl_set_pointer(easy, CURLOPT_WRITEDATA, context),
            shim_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION, receiveHead),
            shim_curl_set_pointer(easy, CURLOPT_HEADERDATA, context),
            shim_curl_set_socket_opener(easy, socketOpener),
            shim_curl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context),
        ]
        if isPost {
            codes += [
                shim_curl_set_long(easy, CURLOPT_POST, 1),
                shim_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, request.body.count),
                shim_curl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, request.body),
                shim_curl_set_long(easy, CURLOPT_FRESH_CONNECT, 1),
            ]
        }
        if let pem = options.trustedPEM { codes += trust(pem) }
        codes.append(setHeaders(isPost: isPost))
        if let code = codes.first(where: { $0 != CURLE_OK }) {
            throw FetchError(
                code == CURLE_URL_MALFORMAT ? .invalidRequest : .libraryFailed,
                "libcurl refused an option: \(String(cString: curl_easy_strerror(code)))"
            )
        }
    }

    private func trust(_ pem: String) -> [CURLcode] {
        var bytes = Array(pem.utf8)
        return bytes.withUnsafeMutableBytes { buffer in
            var blob = curl_blob(data: buffer.baseAddress, len: buffer.count, flags: UInt32(CURL_BLOB_COPY))
            return [
                shim_curl_set_pointer(easy, CURLOPT_CAINFO_BLOB, &blob),
                // Or the system's directory would be believed as well.
                shim_curl_set_pointer(easy, CURLOPT_CAPATH, nil),
            ]
        }
    }

    private func setHeaders(isPost: Bool) -> CURLcode {
        var texts = order.request.headers.map { header in
            // A header without a value is taken out by libcurl unless it ends in a semicolon.
            header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)"
        }
        // Waiting for 100 Continue costs a second with servers that do not know it.
        if isPost { texts.append("Expect:") }
        if !order.request.headers.contains(where: { $0.name.lowercased() == "user-agent" }) {
            texts.append("User-Agent: varsel")
        }
        for text in texts {
            guard let longer = curl_slist_append(lines, text) else { return CURLE_OUT_OF_MEMORY }
            lines = longer
        }
        return shim_curl_set_pointer(easy, CURLOPT_HTTPHEADER, lines)
    }

    /// At least one: zero means no limit to libcurl.
    private func milliseconds(_ duration: Duration) -> Int {
        let (seconds, fraction) = duration.components
        return max(1, Int(clamping: seconds) * 1000 + Int(fraction / 1_000_000_000_000_000))
    }

    // MARK: What arrives

    /// - Returns: whether to go on.
    func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= options.bodyLimit else {
            isTooLarge = true
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    func received(head bytes: UnsafeRawBufferPointer) -> Bool {
        // The head of an interim answer or of a redirect is not the one that counts.
        if bytes.starts(with: "HTTP/".utf8) {
            head.removeAll(keepingCapacity: true)
            body.removeAll(keepingCapacity: true)
        }
        guard head.count + bytes.count <= options.headLimit else {
            isTooLarge = true
            return false
        }
        head.append(contentsOf: bytes)
        return true
    }

    func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        triedAddress = true
        if options.refusesPrivateAddresses {
            let isPublic = withUnsafePointer(to: &address.pointee.addr) { PublicAddress.isPublic($0) }
            if !isPublic {
                refusedAddress = true
                return CURL_SOCKET_BAD
            }
        }
        return shim_curl_open_socket(address)
    }

    // MARK: The end

    func result(_ code: CURLcode) -> Result<FetchResponse, FetchError> {
        if isTooLarge {
            return .failure(
                FetchError(
                    .responseTooLarge,
                    "the answer of \(host) is larger than \(options.bodyLimit) bytes, or its head than \(options.headLimit)",
                    mayHaveBeenProcessed: true
                )
            )
        }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        return .success(FetchResponse(status: shim_curl_status(easy), headers: headers, body: body))
    }

    private var host: String { FetchURL(order.request.url)?.host ?? "the server" }

    private func failure(_ code: CURLcode) -> FetchError {
        let detail = String(cString: errorText)
        let cause = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        let kind: FetchError.Code
        var mayHaveBeenProcessed = false
        switch code {
        case CURLE_URL_MALFORMAT: kind = .invalidRequest
        case CURLE_UNSUPPORTED_PROTOCOL: kind = .schemeNotAllowed
        case CURLE_COULDNT_RESOLVE_HOST: kind = .resolveFailed
        case CURLE_COULDNT_CONNECT:
            if refusedAddress {
                return FetchError(.addressNotAllowed, "\(host) is not on the public internet")
            }
            kind = .connectFailed
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            kind = .tlsFailed
        case CURLE_OPERATION_TIMEDOUT:
            kind = .timeout
            mayHaveBeenProcessed = true
        case CURLE_TOO_MANY_REDIRECTS:
            kind = .tooManyRedirects
            mayHaveBeenProcessed = true
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2:
            kind = .malformedResponse
            mayHaveBeenProcessed = true
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
            kind = .connectionLost
            mayHaveBeenProcessed = true
        default:
            kind = .libraryFailed
            mayHaveBeenProcessed = true
        }
        return FetchError(kind, "\(host): \(cause)", mayHaveBeenProcessed: mayHaveBeenProcessed && triedAddress)
    }

    private var headers: [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        for line in head.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = line[line.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 }
            let end = value.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? value.startIndex
            found.append((name: name, value: String(decoding: value[..<end], as: UTF8.self)))
        }
        return found
    }
}

// MARK: Called by libcurl on the client's thread

/// The transfer lives as long as its handle, which is what calls.
private func transfer(_ context: UnsafeMutableRawPointer) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context).received(body: buffer) ? buffer.count : 0
}

private func receiveHead(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context).received(head: buffer) ? buffer.count : 0
}

private func socketOpener(
    _ context: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address else { return CURL_SOCKET_BAD }
    return transfer(context).openSocket(address)
}
