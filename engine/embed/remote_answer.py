"""Parsing of answers from embeddings endpoints, as untrusted input. No I/O."""

import math
from collections.abc import Mapping

import orjson

from engine.vectors import Vector


def read_vectors(payload: Mapping[str, object], number: int) -> list[Vector] | None:
    """Return the vectors in the order of their texts, or None if any is missing or invalid."""
    data = payload.get("data")
    found: dict[int, Vector] = {}
    for place, item in enumerate(data if isinstance(data, list) else []):
        vector = _vector(item.get("embedding")) if isinstance(item, Mapping) else None
        if vector is None:
            return None
        index = item.get("index")
        found[index if isinstance(index, int) else place] = vector
    if set(found) != set(range(number)):
        return None
    return [found[place] for place in range(number)]


def _vector(value: object) -> list[float] | None:
    if not isinstance(value, list) or not value:
        return None
    numbers = [v for v in value if isinstance(v, int | float) and math.isfinite(v)]
    return numbers if len(numbers) == len(value) else None


def read_json_object(content: bytes) -> Mapping[str, object]:
    """Return the JSON object of an answer, or an empty one if the answer is not an object."""
    try:
        payload = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return payload if isinstance(payload, dict) else {}
