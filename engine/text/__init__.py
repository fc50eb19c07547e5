"""What people wrote: cleaned, cut into sentences, days and zones read, excerpts chosen.

Lends pure functions over text to every other subject of the engine, and knows none of them.
"""
