"""The web adapter: a page for people, an API for programs, and what operators watch."""
