/// What an `HTTP2Session` tells its owner, on the owner's thread and from inside `receive` and `flush`.
///
/// A stream is known by the tag its owner gave it. An owner must not call the session's `receive` or `flush` from here, nor
/// code it does not own; submitting frames is fine.
protocol HTTP2SessionEvents: AnyObject {
    /// The peer opens a stream (servers only). The owner sets its tag.
    func streamBegan(_ streamID: Int32)
    /// A header field, pseudo-headers included.
    /// - Returns: whether to go on; otherwise the stream is reset.
    func received(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, tag: Int) -> Bool
    /// A piece of a body.
    func received(data: UnsafeBufferPointer<UInt8>, tag: Int)
    /// A whole frame was received; for DATA and HEADERS after their content.
    func received(_ frame: FrameNotice)
    /// A frame was written to the output buffer.
    func sent(_ frame: FrameNotice)
    /// The next piece of a body to send.
    /// - Returns: how many bytes were written to `buffer`, and whether the body ends with them.
    func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>, tag: Int) -> (count: Int, isLast: Bool)
    /// The stream is closed; its tag is free. Also told of streams whose HEADERS were never sent.
    func streamClosed(_ streamID: Int32, tag: Int, errorCode: UInt32)
}

/// What an owner needs to know of a frame.
enum FrameNotice {
    case headers(tag: Int, endStream: Bool)
    case data(tag: Int, endStream: Bool)
    case settings(isAck: Bool)
    case ping(isAck: Bool, payload: UInt64)
    case goAway(lastStreamID: Int32, errorCode: UInt32, opaqueData: String)
    case other
}
