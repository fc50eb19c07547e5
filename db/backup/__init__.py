"""Backups, taken and brought back, by PostgreSQL's own programs."""
