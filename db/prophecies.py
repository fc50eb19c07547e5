"""Prophecies as the tables keep them: JSON text, read back as the values they were."""

from pydantic import TypeAdapter

from engine.types import Prophecy

_PROPHECY = TypeAdapter(Prophecy)


def to_json(prophecy: Prophecy) -> str:
    """Return a prophecy as JSON text."""
    return _PROPHECY.dump_json(prophecy).decode()


def from_json(text: str) -> Prophecy:
    """Return the prophecy that `to_json` wrote."""
    return _PROPHECY.validate_json(text)
