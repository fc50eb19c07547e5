"""Embedding texts: four backends behind one port, and keeping the stored vectors up to date."""
