"""What remembers: SQL, migrations, and the server that comes along."""
