/// What a service credential may do. A credential lists its scopes; a route asks for one.
package enum Scope: String, Sendable, CaseIterable {
    case notificationsWrite = "notifications:write"
    /// Words of its own beside the catalog's.
    case notificationsLiteral = "notifications:literal"
    case notificationsCancel = "notifications:cancel"
    case activityWrite = "activity:write"
    case lifecycleWrite = "lifecycle:write"
    case liveActivitiesWrite = "live-activities:write"
    case pushesRaw = "pushes:raw"
    case explainRead = "explain:read"
    case usersErase = "users:erase"
    case campaignsAdmin = "campaigns:admin"
}
