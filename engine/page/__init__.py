"""Reads what a web page says about itself."""

from engine.page.metadata import Page, read_page

__all__ = ["Page", "read_page"]
