"""JSON objects in what a model answers, whatever it puts around them."""

import json
from collections.abc import Iterator

_MOST_STARTS = 64  # of objects that are tried


def objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the objects in a text, outermost first; of one that is cut off, those within it."""
    decoder, at = json.JSONDecoder(), text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)
