"""Stores language models' answers and their cost, web pages, and the log of searches."""
