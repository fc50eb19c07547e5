"""Searches as tools for agents. Needs the extra `agents`; nothing else of presagio imports it."""
