import NotificationContract
import Notifications
import Testing

struct CategoryRegistryTests {
    @Test func `ids are unique and never change (C1)`() {
        #expect(CategoryRegistry.standard.all.map(\.id.rawValue) == ["reminder", "lifecycle", "campaign"])
    }

    @Test(arguments: [
        ("reminder", 1, true, true, true, 6, 10, 5), ("lifecycle", 5, false, false, true, 72, 0, 10),
        ("campaign", 1, true, true, false, 24, 20, 5),
    ])
    func `the registry holds the agreed values (C1, C2)`(
        id: String,
        weekly: Int,
        global: Bool,
        toggle: Bool,
        enabled: Bool,
        hours: Int,
        queue: Int,
        apns: Int
    ) throws {
        let category = try CategoryRegistry.standard.category(CategoryID(id))
        #expect(category.maxPerWeek == weekly)
        #expect(category.countsTowardGlobalCap == global)
        #expect(category.isUserToggleable == toggle)
        #expect(category.isEnabledByDefault == enabled)
        #expect(category.timeToLive == .seconds(hours * 3600))
        #expect(category.queuePriority == queue)
        #expect(category.presentation.apnsPriority == apns)
    }

    @Test func `the window is half-open`() throws {
        let window = try #require(try CategoryRegistry.standard.category(.reminder).window)
        #expect(window.contains(localMinute: 8 * 60))
        #expect(window.contains(localMinute: 21 * 60 - 1))
        #expect(!window.contains(localMinute: 21 * 60))
        #expect(!window.contains(localMinute: 8 * 60 - 1))
    }
}
