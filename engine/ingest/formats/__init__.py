"""One reader per export format: bytes in, records out; damage is reported by line and reason."""
