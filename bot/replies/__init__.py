"""Builds replies: platform-independent values that faces render."""
