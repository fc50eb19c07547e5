"""Feeds: what they say, when they are asked again, and when two headlines are one story."""
