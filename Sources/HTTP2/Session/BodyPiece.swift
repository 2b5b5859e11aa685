extension [UInt8] {
    /// Copies the next piece of a body into a buffer and moves the offset behind it.
    /// - Returns: how many bytes were copied, and whether they are the last ones.
    func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>, offset: inout Int) -> (count: Int, isLast: Bool) {
        let start = offset
        let piece = Swift.min(buffer.count, count - start)
        withUnsafeBufferPointer { body in
            guard let target = buffer.baseAddress, let source = body.baseAddress else { return }
            target.update(from: source + start, count: piece)
        }
        offset += piece
        return (piece, offset == count)
    }
}
