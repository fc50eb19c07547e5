"""The PostgreSQL server that comes along: its programs, its folder, its start and its stop."""
