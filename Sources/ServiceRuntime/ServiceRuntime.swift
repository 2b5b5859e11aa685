// ServiceRuntime: see docs/modules.md
