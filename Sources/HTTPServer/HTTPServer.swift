// HTTPServer: see docs/modules.md
