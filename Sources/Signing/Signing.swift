// Signing: see docs/modules.md
