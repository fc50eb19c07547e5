"""The bot's words in a reader's language."""
