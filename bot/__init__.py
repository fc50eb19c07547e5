"""The application: adapters, commands, jobs, settings, and their wiring."""
