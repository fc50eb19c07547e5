"""The embedded PostgreSQL server: its programs, its folder, its start and its stop."""
