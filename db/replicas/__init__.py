"""Reading from streaming standbys of the primary."""
