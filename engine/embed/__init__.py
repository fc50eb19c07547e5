"""Texts into vectors: four backends behind one port, and what is made of them."""
