// TestSupport: see docs/modules.md
