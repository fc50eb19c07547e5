"""Texts as the lists of an archive show them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time

from bot.i18n.words import Words
from bot.reply import name_flags, say_date
from bot.web.rendering import Piece, name_links, split_marks
from bot.web.visitor import format_day
from db.search.shown import ArchiveText
from engine.search import Candidate
from engine.values import Corpus, Flag

ON_A_PAGE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """One text as lists show it."""

    id: str
    day: str
    date_text: str
    time: str  # of the day, in UTC: "09:05"; "" if it is not known
    author: str | None  # if it says more than the corpus does
    likes: str
    labels: Sequence[str]
    lang: str | None
    pieces: Sequence[Piece]
    share: int = 0  # of the reactions of the most liked, in percent, where texts are ranked by them


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDay:
    """Texts under one heading; those that continue a thread stand with the day it begins on."""

    day: str = ""  # ISO; "" where texts are not listed by date
    title: str = ""  # as people write it
    since: str = ""  # how long ago that is, where this tells the days apart
    share: int = 0  # of the longest of these times, in percent
    texts: list[tuple[ArchiveEntry, bool]] = field(default_factory=list)  # continues a thread?
    replies: list[ArchiveEntry] = field(default_factory=list)  # to others
    say_replies: str = ""
    more: str = ""  # how many other texts that day has


def describe_archived(text: ArchiveText, corpus: Corpus, words: Words) -> ArchiveEntry:
    return describe_entry(text.candidate, text.engagement, text.candidate.text, corpus, words)


def describe_entry(
    candidate: Candidate, engagement: int, text: str, corpus: Corpus, words: Words
) -> ArchiveEntry:
    """Return a text as lists show it, with marks in `text`."""
    return ArchiveEntry(
        id=candidate.external_id,
        day=format_day(candidate.created_at),
        date_text=_say_short_date(candidate, words),
        time="" if candidate.dated_by else _format_time(candidate.created_at),
        author=candidate.author if candidate.author != corpus.author else None,
        likes=say_likes(engagement, words),
        labels=name_flags(candidate.flags.names, words),
        lang=candidate.lang,
        pieces=_list_pieces(text, words, has_media=Flag.MEDIA in candidate.flags),
    )


def _list_pieces(text: str, words: Words, *, has_media: bool) -> Sequence[Piece]:
    """Return what a list shows of a text, which may have none, and may begin with empty lines."""
    if text.strip():
        return name_links(split_marks(text.strip()), words, has_media=has_media)
    return [Piece(words.say("(picture only)") if has_media else "—", marked=False)]


def _say_short_date(candidate: Candidate, words: Words) -> str:
    if candidate.dated_by or not candidate.created_at:
        return say_date(candidate.created_at, candidate.dated_by, words)
    return words.short_date(candidate.created_at.astimezone(UTC))


def _format_time(moment: datetime | None) -> str:
    """Return the time of day (UTC), or "" for none and for midnight, which dates alone become."""
    moment = moment and moment.astimezone(UTC)
    return f"{moment:%H:%M}" if moment and moment.time() != time.min else ""


def say_likes(number: int, words: Words) -> str:
    if not number:
        return ""
    return words.count("{number} reaction", "{number} reactions", number)
