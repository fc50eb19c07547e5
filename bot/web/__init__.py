"""The web face: a page for people, an API for programs, and what operators watch."""
