// DeliveryEngine: see docs/modules.md
