"""The terminal face: conversations, results, remarks and progress."""
