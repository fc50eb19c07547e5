"""Builds replies: platform-independent values that adapters render."""
