"""Whether a function takes time in proportion to its text, by processor time."""

import sys

import pytest

from bench.growth import grows_faster

__all__ = ["grows_faster", "needs_timer"]

needs_timer = pytest.mark.skipif(sys.platform == "win32", reason="needs a timer of processor time")
