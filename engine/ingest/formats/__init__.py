"""One reader per export format: bytes in, records out; damage is reported by line and reason.

The formats are those in READERS of each module.
"""
