// NotificationBus: see docs/modules.md
