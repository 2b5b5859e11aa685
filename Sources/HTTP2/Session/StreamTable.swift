/// Streams in numbered slots; the slot's number is the stream's tag. Slots are used again, so that look-ups are array
/// accesses and memory follows the highest number of streams open at once.
struct StreamTable<Stream: AnyObject> {
    private var slots: [Stream?] = []
    private var free: [Int] = []
    /// How many slots are taken.
    private(set) var count = 0

    /// Takes a slot.
    mutating func insert(_ stream: Stream) -> Int {
        count += 1
        if let tag = free.popLast() {
            slots[tag] = stream
            return tag
        }
        slots.append(stream)
        return slots.count - 1
    }

    /// Frees a slot.
    @discardableResult
    mutating func remove(_ tag: Int) -> Stream? {
        guard slots.indices.contains(tag), let stream = slots[tag] else { return nil }
        slots[tag] = nil
        free.append(tag)
        count -= 1
        return stream
    }

    subscript(tag: Int) -> Stream? { slots.indices.contains(tag) ? slots[tag] : nil }

    /// Every stream with its tag.
    var all: [(tag: Int, stream: Stream)] {
        slots.enumerated().compactMap { tag, stream in stream.map { (tag, $0) } }
    }
}
