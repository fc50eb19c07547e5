"""Text processing: cleaning, sentences, dates and zones, excerpts.

Pure functions over text, used by all other packages of the engine and depending on none of them.
"""
