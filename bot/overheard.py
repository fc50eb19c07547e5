"""When the bot may speak without being asked: pure decisions."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from engine.links import first_link

from engine.chat import Chat
from engine.types import Prophecy

_WORD = re.compile(r"\w+")
_FEWEST_WORDS, _MOST_WORDS = 4, 40
_LONGEST = 300
# What people say to each other begins like this, headlines do not.
_TALK = re.compile(
    r"\s*(?:@|hi\b|hello\b|hey\b|thanks\b|thank you\b|ok\b|lol\b|haha|i\b|i'|we\b|you\b|hola\b|"
    r"gracias\b|dale\b|che\b|jaja|buen[oa]s?\b|yo\b|vos\b|tú\b|nosotros\b)",
    re.IGNORECASE,
)
_HIGHEST_JUDGMENT = 6


def looks_like_headline(text: str) -> bool:
    """Tell whether an overheard message may be news: a link, or one statement of some length."""
    text = text.strip()
    if first_link(text):
        return True
    words = _WORD.findall(text)
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or len(text) > _LONGEST:
        return False
    return "\n" not in text and not text.endswith("?") and not _TALK.match(text)


def is_quiet(chat: Chat, now: datetime) -> bool:
    """Tell whether `now` lies in the chat's quiet hours, which may span midnight."""
    start, end = chat.quiet_from, chat.quiet_to
    if start is None or end is None or start == end:
        return False
    local = now.astimezone(ZoneInfo(chat.time_zone)).time()
    return start <= local < end if start < end else local >= start or local < end


def worth_saying(prophecy: Prophecy, threshold: int, unjudged_coverage: float) -> bool:
    """Tell whether the best hit is good enough to be said unasked.

    `threshold` is a judgment, 0..6; without one, the share of the headline that is covered
    has to reach `unjudged_coverage`.
    """
    if not prophecy.hits:
        return False
    judgment = prophecy.hits[0].parts.get("judgment")
    if judgment is None:
        return (prophecy.hits[0].parts.get("lexical") or 0.0) >= unjudged_coverage
    return round(judgment * _HIGHEST_JUDGMENT) >= threshold
