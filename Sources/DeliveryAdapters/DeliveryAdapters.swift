// DeliveryAdapters: see docs/modules.md
