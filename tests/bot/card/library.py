"""Fonts for the tests: what is shipped and nothing of this machine, so that every run is alike."""

from functools import lru_cache

from bot.card.fonts import FontLibrary, shipped_files


@lru_cache(maxsize=1)
def shipped() -> FontLibrary:
    return FontLibrary(shipped_files())
