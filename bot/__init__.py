"""The application: faces, commands, jobs, settings, and their wiring."""
