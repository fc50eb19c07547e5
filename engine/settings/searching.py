"""Settings for retrieval, scores, finds and answers."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from engine.ranking import ALIKE
from engine.search import Mode
from engine.settings import Section
from engine.values import Kind

MAX_MONTHS = 1200  # that may be excluded before a headline
_WORTH = re.compile(r"0|1|[01]?\.\d+")


class SearchSettings(Section):
    """How tweets are proposed for a headline."""

    corpus: str = Field("", description="Corpus to search; empty means the only one there is.")
    mode: Literal["auto", "lexical", "rerank", "hybrid"] = Field(
        "auto",
        description="lexical finds by words; rerank does and lets meaning change the order; hybrid"
        " finds by words and by meaning; auto is hybrid where nine tenths of the corpus have"
        " vectors, else lexical; where no language model judges, a local model of embeddings then"
        " re-orders the best.",
    )
    rerank_seconds: float = Field(
        20,
        gt=0,
        le=60,
        description="Seconds to wait for vectors of the best tweets of a corpus without any, which"
        " are kept; if one is late, words alone answer, and the answer says so.",
    )
    limit: int = Field(
        3, ge=1, le=50, description="Tweets in one answer; a message in a chat has room for 15."
    )
    candidates: int = Field(
        150, ge=1, le=1000, description="Tweets that words propose to the judge, and meaning."
    )
    expansion: Literal["auto", "off"] = Field(
        "auto",
        description="auto asks the model that judges for phrases which the account may have used"
        " for what a headline tells, and looks for these too; off looks for the headline alone.",
    )
    expansion_timeout: float = Field(
        5,
        gt=0,
        description="Seconds to wait for the phrases; later ones are kept for the next time.",
    )
    exclude_recent_months: int = Field(
        0,
        ge=0,
        le=MAX_MONTHS,
        description="Tweets of the last so many months before the headline do not count.",
    )
    minimum_judgment: int = Field(
        4,
        ge=0,
        le=6,
        description="Judged tweets below this (0 to 6) are no hits, and shown only on request.",
    )
    minimum_lexical: float = Field(
        0.25,
        ge=0,
        le=1,
        description="Unjudged tweets are hits that cover so much of the headline (0 to 1),",
    )
    minimum_semantic: float = Field(
        0.25,
        ge=0,
        le=1,
        description="or mean something as close to it as this (0 to 1), or half of the one and half"
        " of the other, and so on. What is weaker is shown only on request.",
    )

    @property
    def chosen_mode(self) -> Mode | None:
        """The mode, or None (auto) to choose by what is available."""
        return None if self.mode == "auto" else Mode(self.mode)


class ScoreSettings(Section):
    """How a hit is scored. Weights are renormalised over the parts that exist."""

    judgment: float = Field(0.65, ge=0, description="Weight of the model's judgment.")
    lexical: float = Field(0.25, ge=0, description="Weight of the words in common.")
    age: float = Field(
        0.10, ge=0, description="What age may take from a score: it is a boost, and no evidence."
    )
    semantic: float = Field(
        0.10, ge=0, description="Weight of the similarity of meaning, where there are vectors."
    )

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.judgment + self.lexical == 0:
            raise ValueError("needs a weight above 0 in judgment or lexical")
        return self

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each feature by its name."""
        return {
            "judgment": self.judgment,
            "lexical": self.lexical,
            "age": self.age,
            "semantic": self.semantic,
        }

    @property
    def age_boost(self) -> float:
        """The share of a score that age can change, 0..1."""
        return self.age / (self.age + self.judgment + self.lexical)


class AnswerSettings(Section):
    """How questions are answered: presagio ask, and /ask in a chat."""

    limit: int = Field(8, ge=1, le=20, description="Texts that an answer is made from.")
    uncited: Literal["drop", "mark"] = Field(
        "drop",
        description="What becomes of a sentence of the model that names no source: drop leaves it"
        " out, mark shows it with [?].",
    )
    check: bool = Field(
        False,
        description="Whether a second call compares each sentence with what it cites, with"
        " check_model of [compose].",
    )
    unsupported: Literal["drop", "mark"] = Field(
        "drop",
        description="What becomes of a sentence that the check finds unsupported: drop leaves it"
        " out, mark shows it with [?].",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProphecySettings:
    """How headlines are searched, and how what is found is scored.

    At most `maximum` candidates are judged or compared, and at most `max_with_phrases` if a model
    was asked for phrases and answered. Texts that are alike by `similarity` percent count as one.
    """

    search: SearchSettings = field(default_factory=SearchSettings)
    score: ScoreSettings = field(default_factory=ScoreSettings)
    maximum: int = 240
    max_with_phrases: int = 52
    similarity: float = ALIKE


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


class PersonalSettings(Section):
    """How find ranks messages and notes."""

    preferred_roles: tuple[str, ...] = Field(
        ("me", "user"),
        description='Roles whose words go first: these are one\'s own; "assistant" prefers the'
        " answers of an assistant.",
    )


class PublishedSettings(Section):
    """How find ranks articles."""

    authorities: tuple[Authority, ...] = Field(
        (),
        description="What the word of an author or a domain is worth, 0 to 1:"
        ' "example.org = 0.9", "Ana Ruiz = 1". A domain stands for those below it.',
    )

    @property
    def worths(self) -> Mapping[str, float]:
        """The worth of each author and domain in the settings, by name in lower case."""
        return dict(filter(None, map(named_worth, self.authorities)))


@dataclass(frozen=True, slots=True, kw_only=True)
class KindProfile:
    """How find ranks documents of one kind: the weight of each feature, by its name.

    Recency falls to 37 % in `decay_days`. `worths` has what the word of an author or a domain is
    worth, by name in lower case.
    """

    weights: Mapping[str, float]
    decay_days: float = math.inf
    preferred_roles: Collection[str] = ()
    worths: Mapping[str, float] = field(default_factory=dict)


def list_profiles(
    personal: PersonalSettings, published: PublishedSettings
) -> Mapping[Kind, KindProfile]:
    """Return how documents of each kind are ranked that is not ranked by BM25 alone."""
    return {
        Kind.PERSONAL: KindProfile(
            weights={"lexical": 0.6, "recency": 0.2, "role": 0.1, "thread": 0.1},
            decay_days=180,
            preferred_roles=personal.preferred_roles,
        ),
        Kind.SOCIAL: KindProfile(
            weights={"lexical": 0.5, "recency": 0.2, "engagement": 0.2, "hashtags": 0.1},
            decay_days=30,
        ),
        Kind.PUBLISHED: KindProfile(
            weights={"lexical": 0.8, "authority": 0.2}, worths=published.worths
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSettings:
    """How queries of the dialect are answered.

    `pool` is how many of the best by words, of the newest and of the most liked documents each a
    profile ranks; if there are fewer, it ranks all. Texts that are alike by `similarity` percent
    count as one.
    """

    search: SearchSettings = field(default_factory=SearchSettings)
    score: ScoreSettings = field(default_factory=ScoreSettings)
    profiles: Mapping[Kind, KindProfile] = field(
        default_factory=lambda: list_profiles(PersonalSettings(), PublishedSettings())
    )
    pool: int = 200
    similarity: float = ALIKE
