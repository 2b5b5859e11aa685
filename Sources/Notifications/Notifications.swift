// Notifications: see docs/modules.md
