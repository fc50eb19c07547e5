"""Ports that this program listens on: how many connections, and an end to every wait."""
