"""What people meet: faces, commands, jobs, settings, and the wiring of all of it."""
