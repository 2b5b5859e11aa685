// JobQueue: see docs/modules.md
