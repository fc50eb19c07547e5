"""Runs work on untrusted input in processes that may hang, grow and die."""
