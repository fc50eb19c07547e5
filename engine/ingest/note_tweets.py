"""The whole texts of long posts, which X exports apart from the posts.

`note-tweet.js` has ids of its own and no link to the posts. A note belongs to the post that was
written at the same second and whose text it continues; a reply begins with handles that the
note leaves out, and the same link has another short form in each.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.errors import RecordError
from engine.ingest.dates import zoned
from engine.ingest.fields import mapping, mappings, string
from engine.text import shown

_SLACK = tuple(timedelta(seconds=seconds) for seconds in (0, -1, 1, -2, 2))
_SHORTEST_BEGINNING = 40  # characters that must agree
_ADDRESSED = re.compile(r"(?:@\w+\s+)*")
_LONGEST_CUT = 2_000  # characters
_SHORT_LINK = re.compile(r"https?://t\.co/\w+")
_CUT_END = re.compile(r"(?:…|(?<!\s))(?:\s*+https?://t\.co/\w++)*+\s*+$")


@dataclass(frozen=True, slots=True)
class _Note:
    compared: str  # every short link the same
    whole: str  # every short link expanded


class NoteTweets:
    """Long texts by the second in which they were written."""

    def __init__(self, notes: Iterable[Mapping[str, object]] = ()) -> None:
        self._by_second: dict[datetime, list[_Note]] = {}
        for wrapped in notes:
            note = mapping(wrapped.get("noteTweet"))
            read = _note(mapping(note.get("core")))
            try:
                second = zoned(note.get("createdAt")).replace(microsecond=0)
            except RecordError:
                continue  # without a time it belongs to no post, which then stays cut and says so
            if read:
                self._by_second.setdefault(second, []).append(read)

    def whole_text(self, tweet: Mapping[str, object]) -> str | None:
        """Return the whole text of a post that was cut, or None when nothing is missing."""
        cut = string(tweet.get("full_text"))
        if not self._by_second or not cut or len(cut) > _LONGEST_CUT:
            return None
        addressed, beginning = _beginning(shown(cut))
        if len(beginning) < _SHORTEST_BEGINNING:
            return None
        for note in self._written_at(tweet.get("created_at")):
            if note.compared.startswith(beginning) and len(note.compared) > len(beginning):
                return addressed + note.whole
        return None

    def _written_at(self, created_at: object) -> Iterable[_Note]:
        try:
            second = zoned(created_at)
        except RecordError:
            return  # the normaliser reports it
        for slack in _SLACK:
            yield from self._by_second.get(second + slack, ())


def _note(core: Mapping[str, object]) -> _Note | None:
    text = string(core.get("text"))
    if not text:
        return None
    whole = text
    for link in mappings(core.get("urls")):
        short, expanded = string(link.get("shortUrl")), string(link.get("expandedUrl"))
        if short and expanded:
            whole = whole.replace(short, expanded)
    return _Note(_SHORT_LINK.sub("t.co", text), whole)


def _beginning(text: str) -> tuple[str, str]:
    """Split a cut text into the handles it addresses and what is left of what it says."""
    found = _ADDRESSED.match(text)
    addressed = found[0] if found else ""
    return addressed, _SHORT_LINK.sub("t.co", _CUT_END.sub("", text[len(addressed) :]))
