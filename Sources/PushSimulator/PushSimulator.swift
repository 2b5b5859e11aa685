// PushSimulator: see docs/modules.md
