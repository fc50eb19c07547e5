"""Chats: their settings, events being answered, answers given, quotas."""
