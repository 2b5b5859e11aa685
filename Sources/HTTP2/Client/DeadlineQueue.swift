/// The deadlines of all open streams in one ordering: a binary heap of plain values, without a timer per stream.
///
/// A stream that ends leaves its entry behind; such entries are thrown out once they outnumber the open streams, so that the
/// cost per stream stays constant and memory follows the number of open streams.
struct DeadlineQueue {
    /// The stream that a deadline belongs to.
    struct Entry: Equatable {
        var deadline: MonotonicTime
        var tag: Int
        /// Tells streams apart that used the same tag.
        var id: UInt64
    }

    private var heap: [Entry] = []

    var count: Int { heap.count }

    /// The earliest deadline, which may be that of a stream that has ended.
    var earliest: MonotonicTime? { heap.first?.deadline }

    /// Whether entries of ended streams outnumber the open ones by far.
    func needsCompaction(open: Int) -> Bool { heap.count > 2 * open + 64 }

    mutating func insert(_ entry: Entry) {
        heap.append(entry)
        siftUp(heap.count - 1)
    }

    /// Takes out an entry whose deadline has passed, the earliest first.
    mutating func popExpired(now: MonotonicTime) -> Entry? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            siftDown(0)
        }
        return first
    }

    /// Throws out the entries of streams that have ended.
    mutating func compact(_ isOpen: (Entry) -> Bool) {
        heap.removeAll { !isOpen($0) }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].deadline < heap[parent].deadline else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var smallest = index
            for child in (2 * index + 1)..<(2 * index + 3) where child < heap.count {
                if heap[child].deadline < heap[smallest].deadline { smallest = child }
            }
            guard smallest != index else { return }
            heap.swapAt(index, smallest)
            index = smallest
        }
    }
}
