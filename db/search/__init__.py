"""Searches by words, by the query dialect and by meaning. Implements the index ports."""
