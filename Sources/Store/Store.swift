// Store: see docs/modules.md
