"""What is found: by words, by the query dialect, by meaning. Implements the index ports."""
