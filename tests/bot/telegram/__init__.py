"""Tests of bot/telegram."""
