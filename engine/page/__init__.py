"""Reads what a web page says about itself."""
