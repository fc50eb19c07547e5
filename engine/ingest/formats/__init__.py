"""One reader a format of export: bytes in, records out, damaged ones told by line and reason."""
