"""The `presagio` command, with one module per command."""
