"""Whole stories: people, platforms and the bot between them."""
