// HTTP2: see docs/modules.md
