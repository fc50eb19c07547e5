"""Reads feeds, schedules their polls, and joins headlines that tell one story."""
