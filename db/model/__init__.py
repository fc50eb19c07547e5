"""Stores what language models were paid for, pages of the web, and the log of searches."""
