"""What a handler answers with. Faces render it; nothing here knows a platform."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from bot.words import Words

_MARKS = {"repost": "repost", "quote": "quote", "truncated": "cut", "deleted": "deleted"}
_SEPARATOR = ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What pressing a button asks for. Written in at most 64 bytes, as platforms demand."""

    name: str
    answer_id: int | None = None
    value: str = ""

    def __str__(self) -> str:
        return _SEPARATOR.join((self.name, str(self.answer_id or ""), self.value))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` wrote; None for anything else that a platform may send."""
        name, *rest = text.split(_SEPARATOR, 2)
        if len(rest) != 2 or not name.isidentifier() or len(text) > 64:
            return None
        answer_id, value = rest
        if answer_id and not (answer_id.isascii() and answer_id.isdigit()):
            return None
        return cls(name=name, answer_id=int(answer_id) if answer_id else None, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A label and what it asks for."""

    label: str
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """One found text as a person sees it."""

    rank: int
    text: str  # as written
    author: str | None
    date: datetime
    date_text: str  # "March 14, 2012", in the reader's language
    age: str  # "9 years before", in the reader's language
    url: str | None
    score: float  # 0..1
    flags: tuple[str, ...]  # names of engine.types.Flag
    judged: bool  # by the language model

    def marks(self, words: Words) -> tuple[str, ...]:
        """What a reader must be told beside the text."""
        marks = tuple(words.say(_MARKS[flag]) for flag in self.flags if flag in _MARKS)
        return marks if self.judged else (words.say("not judged"), *marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer: a headline and its hits, or text, or both, in the language of `words`."""

    words: Words
    headline: str | None = None
    text: str | None = None
    hits: tuple[HitView, ...] = ()
    notice: str | None = None  # what the reader should know about how this was found
    buttons: tuple[tuple[Button, ...], ...] = ()  # rows
    picture: bytes | None = None  # PNG; the rest is its caption
    ephemeral: bool = False  # meant for the asker alone, where a platform can do that
    replaces: bool = False  # answers a button by changing the message that carries it
    toast: str | None = None  # answers a button with a word that passes; nothing is sent
