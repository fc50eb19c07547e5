"""The lines of a WhatsApp chat as messages: who, when, and all that belongs to it."""

import io
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

from engine.ingest.pieces import raw_lines

_HEADER = re.compile(
    r"(?P<bracket>\[)?(?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{1,4})[^\d\[\]:]{1,8}"
    r"(?P<time>\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?\s?m\.?)?)"
    r"(?(bracket)\]\s?|\s-\s)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AUTHOR = re.compile(r"([^:\n]{1,100}): (.*)|([^:\n]{1,100}):$", re.DOTALL)
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACES = re.compile("[\u00a0\u202f\u2007]")
_LONGEST = 200_000  # characters; a text that long is refused later


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `text` still has the invisible marks by which iOS tells its own words."""

    line: int
    date: str
    time: str
    author: str | None  # None: WhatsApp itself
    text: str


def messages(stream: io.BufferedReader) -> Generator[Message]:
    """Yield the messages of a chat in order, holding one at a time."""
    current: Message | None = None
    for number, raw, _problem in raw_lines(stream):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if begun := _begun(number, line):
            if current:
                yield current
            current = begun
        elif current and len(current.text) < _LONGEST:
            current = replace(current, text=f"{current.text}\n{line}")
    if current:
        yield current


def headers(text: str) -> Iterator[tuple[str, str]]:
    """Yield date and time of every message that begins in `text`."""
    for line in text.split("\n"):
        if found := _header(line):
            yield found["date"], found["time"]


def unmarked(text: str) -> str:
    """Return `text` without the invisible marks of direction."""
    return _MARKS.sub("", text)


def _header(line: str) -> re.Match[str] | None:
    return _HEADER.match(_SPACES.sub(" ", line).lstrip("\u200e\u200f\ufeff"))


def _begun(number: int, line: str) -> Message | None:
    found = _header(line)
    if not found:
        return None
    said = _AUTHOR.match(found["rest"])
    author = unmarked(said[1] or said[3]).strip() if said else None
    text = (said[2] or "") if said else found["rest"]
    return Message(number, found["date"], found["time"], author, text)
