import Kernel

/// The running month in UTC, counted from year 0.
enum SystemMonth {
    static var current: Int64 {
        let text = SystemWallClock().now.rfc3339
        let year = Int64(text.prefix(4)) ?? 0
        let month = Int64(text.dropFirst(5).prefix(2)) ?? 1
        return year * 12 + month - 1
    }
}
