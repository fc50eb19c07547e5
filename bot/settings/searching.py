"""What can be set about retrieval, scores, finds and answers."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from bot.settings.section import Section


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
    rerank_best: int = Field(
        24,
        ge=0,
        le=100,
        description="The best tweets of a corpus without vectors that are compared by meaning; 0"
        " for none.",
    )
    rerank_seconds: float = Field(
        0.35, gt=0, le=10, description="Seconds for making their vectors, which are kept."
    )
    limit: int = Field(
        3, ge=1, le=50, description="Tweets in one answer; a message in a chat has room for 15."
    )
    candidates: int = Field(
        150, ge=1, le=1000, description="Tweets that words propose to the judge, and meaning."
    )
    candidates_of_both: int = Field(
        240, ge=1, le=2000, description="Tweets that both propose together, copies counted once."
    )
    k1: float = Field(1.2, ge=0, le=10, description="BM25: how fast repeating a word stops paying.")
    b: float = Field(0.75, ge=0, le=1, description="BM25: how much long texts are held back.")
    exclude_recent_months: int = Field(
        0,
        ge=0,
        le=1200,
        description="Tweets of the last so many months before the headline do not count.",
    )
    minimum_judgment: int = Field(
        3,
        ge=0,
        le=6,
        description="Judged tweets below this (0 to 6) are no hits, and shown only on request.",
    )
    minimum_lexical: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Unjudged tweets that cover less of the headline (0 to 1) are no hits,",
    )
    minimum_semantic: float = Field(
        0.5, ge=0, le=1, description="unless their meaning is as close to it as this (0 to 1)."
    )


class ScoreSettings(Section):
    """How a hit is scored. Weights are renormalised over the parts that exist; a multiplier of 1
    changes nothing."""

    judgment: float = Field(0.65, ge=0, description="Weight of the model's judgment.")
    lexical: float = Field(0.25, ge=0, description="Weight of the words in common.")
    age: float = Field(0.10, ge=0, description="Weight of the age: older is higher.")
    semantic: float = Field(
        0.10, ge=0, description="Weight of the similarity of meaning, where there are vectors."
    )
    age_full_years: float = Field(10, gt=0, description="Age in years that counts in full.")
    repost: float = Field(0.97, ge=0, le=1, description="Multiplier for reposts.")
    quote: float = Field(0.97, ge=0, le=1, description="Multiplier for quotes.")
    truncated: float = Field(0.98, ge=0, le=1, description="Multiplier for texts that are cut off.")
    short: float = Field(
        0.8, ge=0, le=1, description="Multiplier for texts of fewer than four telling words."
    )
    duplicate_similarity: float = Field(
        90, ge=0, le=100, description="Texts that are alike by so many percent count as one."
    )

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.judgment + self.lexical + self.age == 0:
            raise ValueError("needs a weight above 0 in judgment, lexical or age")
        return self


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


class AnswerSettings(Section):
    """How questions are answered: presagio ask, and /ask in a chat."""

    limit: int = Field(8, ge=1, le=20, description="Texts that an answer is made from.")
    uncited: Literal["drop", "mark"] = Field(
        "drop",
        description="What becomes of a sentence of the model that names no source: drop leaves it"
        " out, mark shows it with [?].",
    )
    passage_length: int = Field(
        1200, ge=100, le=10_000, description="Characters of a text that the model sees."
    )
    quotes: int = Field(
        3, ge=1, le=20, description="Sentences of an answer that no model has written."
    )
