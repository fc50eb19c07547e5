"""Chats: their settings, events that are being answered, answers given, quotas."""
