"""Outgoing webhooks: signed events that tell other programs of the prophecies found."""
