"""How finds are ranked in corpora of each kind, and how long searches are remembered."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from bot.settings.section import Section

_WORTH = re.compile(r"0|1|[01]?\.\d+")


def named_worth(entry: str) -> tuple[str, float] | None:
    """Return the name, in lower case, and the worth of "example.org = 0.9"; None for others."""
    name, _, worth = (part.strip() for part in entry.rpartition("="))
    if not name or not _WORTH.fullmatch(worth) or float(worth) > 1:
        return None
    return name.casefold().removeprefix("@").removeprefix("www."), float(worth)


def _authority(entry: str) -> str:
    if named_worth(entry) is None:
        raise ValueError('must be a name and a number from 0 to 1, such as "example.org = 0.9"')
    return entry


Authority = Annotated[str, AfterValidator(_authority)]


class PersonalSettings(Section):
    """How find ranks messages and notes. Weights are renormalised over the parts that exist."""

    lexical: float = Field(0.6, gt=0, description="Weight of the words found.")
    recency: float = Field(0.2, ge=0, description="Weight of being recent.")
    role: float = Field(0.1, ge=0, description="Weight of being one's own words.")
    thread: float = Field(
        0.1, ge=0, description="Weight of other texts of the same thread being found."
    )
    decay_days: float = Field(180, gt=0, description="Days in which recency falls to 37 %.")


class SocialSettings(Section):
    """How find ranks posts."""

    lexical: float = Field(0.5, gt=0, description="Weight of the words found.")
    recency: float = Field(0.2, ge=0, description="Weight of being recent.")
    engagement: float = Field(0.2, ge=0, description="Weight of likes and reposts.")
    hashtags: float = Field(0.1, ge=0, description="Weight of words that are hashtags of the post.")
    decay_days: float = Field(30, gt=0, description="Days in which recency falls to 37 %.")
    engagement_full: int = Field(1000, ge=1, description="Likes and reposts that count in full.")


class PublishedSettings(Section):
    """How find ranks articles."""

    lexical: float = Field(0.8, gt=0, description="Weight of the words found.")
    authority: float = Field(
        0.2, ge=0, description="Weight of what the author's or the domain's word is worth."
    )
    authorities: tuple[Authority, ...] = Field(
        (),
        description='What it is worth, 0 to 1: "example.org = 0.9", "Ana Ruiz = 1". A domain stands'
        " for those below it.",
    )
    authority_otherwise: float = Field(
        0.5, ge=0, le=1, description="What the word of all others is worth."
    )


class LogSettings(Section):
    """What is remembered of searches; presagio log shows it."""

    keep_days: int = Field(
        30, ge=0, le=36_500, description="Days for which searches are remembered; 0 for none."
    )
    chat_queries: bool = Field(
        False,
        description="Whether the words of /find are remembered too. Of headlines and other messages"
        " of a chat only a hash is, in any case.",
    )
