"""What can be set about retrieval and scores."""

from typing import Literal, Self

from pydantic import Field, model_validator

from bot.settings.section import Section


class SearchSettings(Section):
    """How tweets are proposed for a headline."""

    corpus: str = Field("", description="Corpus to search; empty means the only one there is.")
    mode: Literal["auto", "lexical", "rerank", "hybrid"] = Field(
        "auto",
        description="lexical finds by words; rerank does and lets meaning change the order; hybrid"
        " finds by words and by meaning; auto is hybrid where presagio embed has made vectors.",
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
