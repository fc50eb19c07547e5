"""Decides what is posted unprompted: to whom, when, and which finds."""
