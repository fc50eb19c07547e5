"""Corpora and their documents: stored, counted, shown."""
