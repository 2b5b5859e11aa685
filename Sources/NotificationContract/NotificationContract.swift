// NotificationContract: see docs/modules.md
