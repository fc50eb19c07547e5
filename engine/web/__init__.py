"""Searching the web and reading the pages found, for texts that no corpus holds."""
