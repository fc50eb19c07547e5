"""What a handler answers with. Faces render it; nothing here knows a platform."""

from dataclasses import dataclass
from datetime import datetime

_MARKS = {"repost": "repost", "quote": "quote", "truncated": "cut", "deleted": "deleted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """One found text as a person sees it."""

    rank: int
    text: str  # as written
    author: str | None
    date: datetime
    age: str  # "9 years before"
    url: str | None
    score: float  # 0..1
    flags: tuple[str, ...]  # names of engine.types.Flag
    judged: bool  # by the language model

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader must be told beside the text."""
        marks = tuple(_MARKS[flag] for flag in self.flags if flag in _MARKS)
        return marks if self.judged else ("not judged", *marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer: a headline and its hits, or text, or both."""

    headline: str | None = None
    text: str | None = None
    hits: tuple[HitView, ...] = ()
    notice: str | None = None  # what the reader should know about how this was found
    ephemeral: bool = False  # meant for the asker alone, where a platform can do that
