"""Settings for finds: the ranking of texts of each kind."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from engine.settings.searching import ScoreSettings, SearchSettings
from engine.settings.section import Section
from engine.types import Kind

_WORTH = re.compile(r"0|1|[01]?\.\d+")


def named_worth(entry: str) -> tuple[str, float] | None:
    """Return the lower-case name and the worth in "example.org = 0.9", or None if malformed."""
    name, _, worth = (part.strip() for part in entry.rpartition("="))
    if not name or not _WORTH.fullmatch(worth) or float(worth) > 1:
        return None
    return name.casefold().removeprefix("@").removeprefix("www."), float(worth)


def _authority(entry: str) -> str:
    if named_worth(entry) is None:
        raise ValueError('must be a name and a number from 0 to 1, such as "example.org = 0.9"')
    return entry


Authority = Annotated[str, AfterValidator(_authority)]


class KindSettings(Section):
    """How find ranks documents of one kind. A key that is named like a feature is its weight."""

    features: ClassVar[tuple[str, ...]] = ()

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each feature by its name."""
        return {name: getattr(self, name) for name in self.features}


class PersonalSettings(KindSettings):
    """How find ranks messages and notes. Weights are renormalised over the parts that exist."""

    features = ("lexical", "recency", "role", "thread")

    lexical: float = Field(0.6, gt=0, description="Weight of the words found.")
    recency: float = Field(0.2, ge=0, description="Weight of being recent.")
    role: float = Field(0.1, ge=0, description="Weight of being one's own words.")
    preferred_roles: tuple[str, ...] = Field(
        ("me", "user"),
        description='Roles whose words "role" prefers: these are one\'s own; "assistant" prefers'
        " the answers of an assistant.",
    )
    thread: float = Field(
        0.1, ge=0, description="Weight of other texts of the same thread being found."
    )
    decay_days: float = Field(180, gt=0, description="Days in which recency falls to 37 %.")


class SocialSettings(KindSettings):
    """How find ranks posts."""

    features = ("lexical", "recency", "engagement", "hashtags")

    lexical: float = Field(0.5, gt=0, description="Weight of the words found.")
    recency: float = Field(0.2, ge=0, description="Weight of being recent.")
    engagement: float = Field(0.2, ge=0, description="Weight of likes and reposts.")
    hashtags: float = Field(0.1, ge=0, description="Weight of words that are hashtags of the post.")
    decay_days: float = Field(30, gt=0, description="Days in which recency falls to 37 %.")
    engagement_full: int = Field(1000, ge=1, description="Likes and reposts that count in full.")


class PublishedSettings(KindSettings):
    """How find ranks articles."""

    features = ("lexical", "authority")

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

    @property
    def worths(self) -> Mapping[str, float]:
        """The worth of each author and domain in the settings, by name in lower case."""
        return dict(filter(None, map(named_worth, self.authorities)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSettings:
    """How queries of the dialect are answered.

    `pool` is how many of the best by words, of the newest and of the most liked documents each a
    profile ranks; if there are fewer, it ranks all.
    """

    search: SearchSettings = field(default_factory=SearchSettings)
    score: ScoreSettings = field(default_factory=ScoreSettings)
    personal: PersonalSettings = field(default_factory=PersonalSettings)
    social: SocialSettings = field(default_factory=SocialSettings)
    published: PublishedSettings = field(default_factory=PublishedSettings)
    pool: int = 200

    def profile(self, kind: Kind) -> PersonalSettings | SocialSettings | PublishedSettings | None:
        """Return the settings for ranking a kind, or None for kinds ranked by BM25 alone."""
        match kind:
            case Kind.PERSONAL:
                return self.personal
            case Kind.SOCIAL:
                return self.social
            case Kind.PUBLISHED:
                return self.published
            case _:
                return None
