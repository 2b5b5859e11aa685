import Notifications

/// The connections to one provider, as the transport ends and watches them.
protocol PushPool: Sendable {
    /// Names the pool in `PushTransport.Health`.
    var name: String { get }
    /// Connections that carry pushes.
    var connections: Int { get }
    /// Pushes on a stream, without an answer yet.
    var inFlight: Int { get }
    /// Pushes that wait for a stream.
    var waiting: Int { get }
    /// What keeps pushes from being sent.
    var problem: String? { get }

    /// Takes no more pushes, gives back the waiting ones and waits until every stream has ended.
    func drain() async
    /// Breaks off every connection; streams without an answer end as `unknown`.
    func dropConnections()
}

extension APNsPool: PushPool {
    var name: String { environment.rawValue }
}
