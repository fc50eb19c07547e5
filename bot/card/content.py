"""The words on a picture."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One headline and the tweet that foresaw it, as a reader sees them.

    Every field is plain text of any length, already in the reader's language; an empty one is left
    out of the picture.
    """

    headline: str
    headline_date: str = ""
    text: str  # the tweet, as written
    author: str = ""
    handle: str = ""  # with its @
    date_text: str = ""  # "14 de marzo de 2012"
    lead_time_text: str = ""  # "9 years before"
    marks: tuple[str, ...] = ()  # "repost", "not judged"
    footer: str = ""
