"""Takes and restores backups with PostgreSQL's own programs."""
