"""The whole texts of long posts, which X exports apart from the posts.

`note-tweet.js` has ids of its own and no link to the posts. A note belongs to the post that was
written at the same second and whose text it continues; a reply begins with handles that the
note leaves out.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from engine.errors import RecordError
from engine.ingest.dates import zoned
from engine.ingest.fields import mapping, mappings, string
from engine.text import shown

_SLACK = tuple(timedelta(seconds=seconds) for seconds in (0, -1, 1, -2, 2))
_SHORTEST_BEGINNING = 40  # characters that must agree
_ADDRESSED = re.compile(r"(?:@\w+\s+)*")
_LONGEST_CUT = 2_000  # characters
_CUT_END = re.compile(r"…?(?:\s*https?://t\.co/\w+)*\s*$")


class NoteTweets:
    """Long texts by the second in which they were written."""

    def __init__(self, notes: Iterable[Mapping[str, object]] = ()) -> None:
        self._by_second: dict[datetime, list[str]] = {}
        for wrapped in notes:
            note = mapping(wrapped.get("noteTweet"))
            text = _text(note)
            try:
                second = zoned(note.get("createdAt")).replace(microsecond=0)
            except RecordError:
                continue  # without a time it belongs to no post, which then stays cut and says so
            if text:
                self._by_second.setdefault(second, []).append(text)

    def whole_text(self, tweet: Mapping[str, object]) -> str | None:
        """Return the whole text of a post that was cut, or None when nothing is missing."""
        cut = string(tweet.get("full_text"))
        if not self._by_second or not cut or len(cut) > _LONGEST_CUT:
            return None
        addressed, beginning = _beginning(shown(cut))
        if len(beginning) < _SHORTEST_BEGINNING:
            return None
        for text in self._written_at(tweet.get("created_at")):
            if text.startswith(beginning) and len(text) > len(beginning):
                return addressed + text
        return None

    def _written_at(self, created_at: object) -> Iterable[str]:
        try:
            second = zoned(created_at)
        except RecordError:
            return  # the normaliser reports it
        for slack in _SLACK:
            yield from self._by_second.get(second + slack, ())


def _text(note: Mapping[str, object]) -> str | None:
    core = mapping(note.get("core"))
    text = string(core.get("text"))
    for link in mappings(core.get("urls")):
        short, expanded = string(link.get("shortUrl")), string(link.get("expandedUrl"))
        if text and short and expanded:
            text = text.replace(short, expanded)
    return text


def _beginning(text: str) -> tuple[str, str]:
    """Split a cut text into the handles it addresses and what is left of what it says."""
    found = _ADDRESSED.match(text)
    addressed = found[0] if found else ""
    return addressed, _CUT_END.sub("", text[len(addressed) :])
