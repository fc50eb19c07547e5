"""Persistence: SQL, migrations, and the embedded server."""
