"""Message text as Telegram keeps it: cleaned, trimmed, measured in UTF-16 units, with entities."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

# Control characters become spaces; line separators, bidi overrides and some combining marks go
# (clean_input_string of TDLib).
_SPACED = dict.fromkeys([*range(10), *range(11, 13), *range(14, 33)], " ")
_GONE = dict.fromkeys([0x0D, *range(0x2028, 0x202F), 0x0333, 0x033F, 0x030A])
_CLEAN: dict[int, str | None] = {**_SPACED, **_GONE}

_DOMAIN = (
    r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|org|net|info|edu|gov|io|es|uk|de|fr|ar|mx)\b"
)
# Earlier kinds win where two overlap.
_DETECTED = (
    ("email", re.compile(rf"(?<![\w.+-])[\w.+-]+@{_DOMAIN}", re.I)),
    ("url", re.compile(rf"(?<![\w@.])(?:https?://[^\s<>\"]+|{_DOMAIN}(?:/[^\s<>\"]*)?)", re.I)),
    ("bot_command", re.compile(r"(?<![\w/<>])/\w{1,64}(?:@\w{3,32})?(?![\w/<>@])", re.ASCII)),
    ("mention", re.compile(r"(?<!\w)@[a-zA-Z0-9_]{4,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<!\w)#\w*[^\W\d]\w*")),
    ("cashtag", re.compile(r"(?<![\w$])\$[A-Z]{3,8}(?!\w)")),
)
# Inside these Telegram looks for nothing else.
_CONTINUOUS = frozenset({"code", "pre", "text_link", "text_mention"})


@dataclass(frozen=True, slots=True)
class Entity:
    """A marked piece of a text; offset and length are UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length

    def payload(self) -> dict[str, object]:
        body: dict[str, object] = {"type": self.type, "offset": self.offset, "length": self.length}
        extra = {"url": self.url, "language": self.language}
        return body | {name: value for name, value in extra.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text and its entities, ordered by offset."""

    text: str = ""
    entities: tuple[Entity, ...] = ()

    def marked(self, kind: str) -> list[str]:
        """The pieces of text that carry an entity of that type."""
        found = [entity for entity in self.entities if entity.type == kind]
        return [piece(self.text, entity.offset, entity.end) for entity in found]


def units(text: str) -> int:
    """Length in UTF-16 code units, which is how Telegram counts."""
    return len(text.encode("utf-16-le")) // 2


def piece(text: str, start: int, end: int) -> str:
    """The part of a text between two UTF-16 offsets."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "replace")


def clean(text: str) -> str:
    """Without the characters that Telegram removes."""
    return text.translate(_CLEAN)


def finished(text: str, entities: Iterable[Entity] = ()) -> Formatted:
    """As stored: trimmed at both ends, entities clamped to it, commands and links detected."""
    left = units(text) - units(text.lstrip())
    body = text.strip()
    end = units(body)
    kept = []
    for entity in entities:
        start, stop = max(entity.offset - left, 0), min(entity.end - left, end)
        if start < stop:
            kept.append(replace(entity, offset=start, length=stop - start))
    ordered = sorted([*kept, *_detected(body, kept)], key=lambda e: (e.offset, -e.length))
    return Formatted(body, tuple(ordered))


def _detected(text: str, present: Sequence[Entity]) -> list[Entity]:
    taken = [(one.offset, one.end) for one in present if one.type in _CONTINUOUS]
    found: list[Entity] = []
    for kind, pattern in _DETECTED:
        for match in pattern.finditer(text):
            what = match.group().rstrip(".,:;!?'") if kind == "url" else match.group()
            start = units(text[: match.start()])
            end = start + units(what)
            if all(end <= one or other <= start for one, other in taken):
                taken.append((start, end))
                found.append(Entity(kind, start, end - start))
    return found
