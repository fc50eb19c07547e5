"""Tweets as X counts them: lengths, marks, cutting at sentences, and the tweet of sources. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from twitter_text import parse_tweet

from engine.compose.types import DraftSentence, SourcePassage, Tweet
from engine.judge.request import one_line

LONGEST = 280  # weighted characters
MOST_TWEETS = 6  # of a thread, that of the sources included
SOURCES = "Sources:"
_CUT = "…"


def tweet_length(text: str) -> int:
    """Return the weighted length of a text: a link counts 23, most emojis and CJK letters 2."""
    return int(parse_tweet(text).weightedLength) if text else 0


def tweet_text(sentences: Sequence[DraftSentence], numbers: Mapping[int, int] | None = None) -> str:
    """Return sentences with their marks; `numbers` maps passages to the numbers shown."""
    text = ""
    for one in sentences:
        joint = "" if not text else "\n" if one.starts_line else " "
        text += joint + one.text + _marks(one, numbers)
    return text


def _marks(sentence: DraftSentence, numbers: Mapping[int, int] | None) -> str:
    shown = sorted(numbers[one] for one in sentence.sources) if numbers else sentence.sources
    marks = "".join(f"[{number}]" for number in (*shown, *sentence.unknown))
    return f" {marks}" if marks else ""


def over_long(sentences: Sequence[DraftSentence]) -> bool:
    """Return whether a tweet of these sentences is longer than X allows."""
    return tweet_length(tweet_text(sentences)) > LONGEST


def fitting(sentences: Sequence[DraftSentence]) -> tuple[DraftSentence, ...]:
    """Return as many of the first sentences as fit; maybe none."""
    kept = tuple(sentences)
    while kept and over_long(kept):
        kept = kept[:-1]
    return kept


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    title: str
    url: str | None

    def text(self, room: int) -> str:
        if self.url:
            return f"[{self.number}] {self.url}"
        title = one_line(self.title, max(8, room))
        return f"[{self.number}] {title}{_CUT if len(title) < len(self.title) else ''}"


def sources_tweet(sources: Sequence[tuple[int, SourcePassage]]) -> Tweet:
    """Return the last tweet of a thread: the numbers with links, or titles where there is none.

    Titles are cut until all fit; links that take the tweet over its length become titles too.
    """
    linked = [_Line(number, cited_as(one), _link(one)) for number, one in sources]
    titled = [replace(line, url=None) for line in linked]
    rooms = (80, 60, 40, 30, 20, 12, 8)
    for lines, room in ((lines, room) for lines in (linked, titled) for room in rooms):
        text = "\n".join([SOURCES, *(line.text(room) for line in lines)])
        if tweet_length(text) <= LONGEST:
            return Tweet(text=text, length=tweet_length(text))
    text = f"{SOURCES} {' '.join(f'[{number}]' for number, _ in sources)}"
    return Tweet(text=text, length=tweet_length(text))


def cited_as(passage: SourcePassage) -> str:
    """Return how a passage is cited: its title, and the page of a library's item."""
    title = one_line(passage.title, len(passage.title))
    if passage.page is not None:
        return f"{title}, p. {passage.page}"
    if passage.date and not passage.url:
        return f"{title}, {passage.date.date().isoformat()}"
    return title


def _link(passage: SourcePassage) -> str | None:
    url = passage.url
    return url if url and url.startswith(("https://", "http://")) else None
