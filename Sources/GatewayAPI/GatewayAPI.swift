// GatewayAPI: see docs/modules.md
