"""Detects threads: which posts go on from the one before.

The rules were read off real archives of posts in English and Spanish.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.values import Flag

# Posts further apart than this are never one text.
LONGEST_GAP = timedelta(hours=1)
_LONGEST_UNANSWERED = timedelta(minutes=20)  # of posts that do not answer one another
MAX_PARTS = 25  # of one text
MAX_LENGTH = 4_000  # characters of one text
_LONGEST_END = 100  # characters in which a post ends with a mark and a link
_MINUTE = timedelta(minutes=1)
_LINKS = re.compile(r"(?<!\s)(?:\s*+(?:https?://|pic\.twitter\.com/)\S++)++")
_TRAILS_OFF = re.compile(r"(?:\.\.|…|,)$")
_POINTS_ON = re.compile(r"(?:\(cont\.?\)|\(sigue\)|[-–—]>|→|⬇\ufe0f?)$", re.IGNORECASE)
# A program wrote this where a text was too long: the rest is on the page that the link leads to.
_GOES_ON_ELSEWHERE = re.compile(r"\(cont\.?\)\s+https?://\S+$", re.IGNORECASE)
_BEGINS_AMID = re.compile(r"[\"“\s]{0,2}(?:\.{2,}|…|\(?cont(?:inued|\.)?[):.…])", re.IGNORECASE)
# "1/", "(2/5)", "3)" at the beginning, or "2/5" at the end.
_NUMBER_AT_BEGINNING = re.compile(r"\(?(\d{1,2})\s?(?:/\s?(?:\d{1,2}|n|x)?\)?|\)|\.)\s")
_NUMBER_AT_END = re.compile(r"(?<![\w/])\(?(\d{1,2})/(?:\d{1,2}|n|x)?\)?$", re.IGNORECASE)
_OF_OTHERS = re.compile(r"RT @|[\"“]@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A post of an account, as far as it matters for what it goes on from."""

    id: int
    external_id: str
    text: str
    search_text: str
    created_at: datetime
    reply_to: str | None
    flags: Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedText:
    """What follows the first post of a thread: the ids of its other parts, and their texts."""

    first: int
    rest: tuple[int, ...]
    text: str
    search_text: str


def join_posts(posts: Iterable[tuple[Post, Post]]) -> list[JoinedText]:
    """Return the threads among pairs of a post and the one that the same author wrote next.

    A text of more than 25 parts or 4,000 characters goes on as another one.
    """
    threads: list[list[Post]] = []
    last: dict[int, list[Post]] = {}  # the thread that a post is the last part of
    for before, post in posts:
        if not is_continuation(before, post):
            continue
        thread = last.pop(before.id, None)
        if thread is None or not _has_room(thread, post):
            thread = [before] if thread is None else [post]
            threads.append(thread)
        if thread[-1] is not post:
            thread.append(post)
        last[post.id] = thread
    return [
        JoinedText(
            first=first.id,
            rest=tuple(part.id for part in rest),
            text="\n".join(part.text for part in rest),
            search_text=" ".join(part.search_text for part in rest),
        )
        for first, *rest in threads
        if rest
    ]


def _has_room(thread: Sequence[Post], post: Post) -> bool:
    length = sum(len(part.text) for part in (*thread, post))
    return len(thread) < MAX_PARTS and length <= MAX_LENGTH


def is_continuation(before: Post, post: Post) -> bool:
    """Return whether `post` goes on from `before`.

    That is the post which it answers or, where it answers none, the last one of its author.
    """
    gap = post.created_at - before.created_at
    if gap > LONGEST_GAP or _is_of_others(before) or _is_of_others(post):
        return False
    if post.reply_to is not None:
        return post.reply_to == before.external_id
    return gap <= _LONGEST_UNANSWERED and _is_marked(before.text, post.text, gap)


def _drop_last_links(text: str) -> str:
    runs = (run.start() for run in _LINKS.finditer(text) if run.end() == len(text))
    return text[: next(runs, len(text))]


def _is_marked(before: str, after: str, gap: timedelta) -> bool:
    """Return whether the marks of two texts say that one goes on in the other."""
    before, after = before.strip(), after.strip()
    if _GOES_ON_ELSEWHERE.search(before, max(0, len(before) - _LONGEST_END)):
        return False
    end = _drop_last_links(before)
    number = _read_number(before, end)
    if number is not None and number + 1 == _read_number(after, _drop_last_links(after)):
        return True
    trails_off, points_on = _TRAILS_OFF.search(end), _POINTS_ON.search(end)
    if _BEGINS_AMID.match(after):
        return bool(trails_off or points_on) or gap <= 5 * _MINUTE
    if after[:1].islower():
        return bool(trails_off or points_on) and gap <= 10 * _MINUTE
    return bool(points_on) and gap <= 2 * _MINUTE


def _is_of_others(post: Post) -> bool:
    """Return whether a post passes on words of somebody else, or was cut by a program."""
    flags = Flag.REPOST | Flag.QUOTE | Flag.TRUNCATED
    return bool(post.flags & flags) or _OF_OTHERS.match(post.text) is not None


def _read_number(beginning: str, end: str) -> int | None:
    """Return the number of a part, by how its text begins and ends."""
    match = _NUMBER_AT_BEGINNING.match(beginning) or _NUMBER_AT_END.search(end)
    return int(match[1]) if match else None
