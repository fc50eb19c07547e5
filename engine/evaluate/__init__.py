"""Measures how good answers are, against headlines that people have judged."""
