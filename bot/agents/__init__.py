"""Searches as tools for agents. Needs the extra `agents`; nothing else in presagio imports it."""
