"""Translations of what the bot says."""
