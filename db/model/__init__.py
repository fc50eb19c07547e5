"""Stores what language models were paid for, and the log of searches."""
