// The code of docs/embedding.md, compiled. What stands between the marks is in the document, word for word.
import Foundation
import VarselKit

// embedding: begin
/// Everything about notifications in one object; the app delegate passes on what the system says.
actor Notifications {
    private let gateway: GatewayClient
    private let tokens: TokenSynchroniser
    private let reactions = PushReactions()
    private let planner = WindowPlanner()
    private let store: any AppStore
    private let system: any NotificationSystem

    init(gateway: GatewayClient, store: any AppStore, system: any NotificationSystem) async {
        self.gateway = gateway
        self.store = store
        self.system = system
        let saved = await store.tokenSync
        let deviceID = await store.deviceID
        tokens = TokenSynchroniser(
            saved ?? TokenSync(deviceID: deviceID),
            surroundings: TokenSynchroniser.Surroundings(
                register: { device, session in
                    try await gateway.with(bearer: await store.accessToken(of: session)).register(device)
                },
                delete: { token, session in
                    try await gateway.with(bearer: await store.accessToken(of: session)).unregister(token: token)
                },
                save: { await store.save($0) }
            )
        )
    }

    // application(_:didFinishLaunchingWithOptions:)
    func launched() async {
        await system.show(actions: .standard)
        await tokens.handle(.launched(timezone: TimeZone.current.identifier, permission: await system.permission))
    }

    // application(_:didRegisterForRemoteNotificationsWithDeviceToken:)
    func received(deviceToken: Data) async { await tokens.handle(.deviceToken(deviceToken)) }

    func loggedIn(session: String) async { await tokens.handle(.loggedIn(session: session)) }

    // Before the app forgets its access token.
    func loggedOut() async { await tokens.handle(.loggedOut) }

    // userNotificationCenter(_:willPresent:), with NotificationPayload(userInfo: notification.request.content.userInfo)
    func willPresent(_ push: NotificationPayload?) async -> ForegroundPresentation {
        guard let push else { return [.banner, .sound] }
        await perform(reactions.arrived(push))
        return ForegroundPresentation(of: push)
    }

    // userNotificationCenter(_:didReceive:), for a push
    func answered(_ push: NotificationPayload, actionID: String) async {
        await perform(reactions.answered(push, actionID: actionID))
    }

    // userNotificationCenter(_:didReceive:), when WindowOccurrence(userInfo:) finds a window
    func answered(_ window: WindowOccurrence, actionID: String) async {
        if actionID == ActionRegistry.tap { await system.open(window.link) }
    }

    // scenePhase == .active
    func foreground(_ place: Place?) async {
        let permission = await system.permission
        await tokens.handle(.foreground(timezone: TimeZone.current.identifier, permission: permission))
        guard WindowScreen(permission: permission, wasExplained: await store.wasExplained) == .planned else { return }
        let now = Date()
        let record = await store.planRecord
        let settings = WindowSettings(
            enabled: await store.enabledWindows,
            completed: await store.completedWindows,
            announced: record?.announced(by: now) ?? [],
            place: place,
            zone: .current
        )
        let languages = Locale.preferredLanguages
        guard !ReplanRule().reasons(since: record, settings, now: now, languages: languages).isEmpty else { return }
        let plan = planner.plan(settings, now: now, pending: await system.pending, languages: languages)
        await system.carryOut(plan)
        await store.save(PlanRecord(settings, plan: plan, now: now, languages: languages))
    }

    private func perform(_ effects: [InboxEffect]) async {
        for effect in effects {
            switch effect {
            case .reloadFirstPage: if let page = try? await gateway.inbox() { await store.save(page) }
            case .markRead(let id): _ = try? await gateway.mark(id, read: true)
            case .open(let link): await system.open(link)
            }
        }
    }
}

/// What the app has to do with the system; on the phone a few lines over `UNUserNotificationCenter`.
protocol NotificationSystem: Sendable {
    /// `PushPermission(await center.notificationSettings().authorizationStatus)`
    var permission: PushPermission { get async }
    /// `await center.pendingNotificationRequests().map(PendingRequest.init)`
    var pending: [PendingRequest] { get async }
    /// `center.setNotificationCategories(actions.notificationCategories())`
    func show(actions: ActionRegistry) async
    /// `center.removePendingNotificationRequests(withIdentifiers: plan.removes)`, then
    /// `center.add(request.notificationRequest)` for each of `plan.adds`
    func carryOut(_ plan: WindowPlan) async
    /// Goes to a screen of the app.
    func open(_ link: String) async
}

/// What the app keeps: preferences, a file, the keychain for access tokens.
protocol AppStore: Sendable {
    var deviceID: String { get async }
    var tokenSync: TokenSync? { get async }
    var planRecord: PlanRecord? { get async }
    var enabledWindows: Set<String> { get async }
    var completedWindows: Set<WindowOccurrence> { get async }
    var wasExplained: Bool { get async }
    func accessToken(of session: String?) async -> String?
    func save(_ sync: TokenSync) async
    func save(_ record: PlanRecord) async
    func save(_ page: InboxPage) async
}
// embedding: end
