"""The terminal adapter: conversations, results, remarks and progress."""
