// PushTransport: see docs/modules.md
