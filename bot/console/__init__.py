"""The terminal as a face: conversations, results, remarks and progress."""
