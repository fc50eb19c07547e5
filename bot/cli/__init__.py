"""The `presagio` command: one module a command."""
