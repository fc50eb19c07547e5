"""Settings for writing tweets from evidence."""

from typing import Annotated

from pydantic import Field

from engine.settings.section import Section

_NOT_SENT = -1
_Temperature = Annotated[float, Field(ge=_NOT_SENT, le=2)]
_Seconds = Annotated[float, Field(gt=0, le=600)]


class ComposeSettings(Section):
    """How tweets are written from evidence: presagio compose. Models left empty are llm.model; a
    temperature of -1 is not sent, as models that think refuse it."""

    retrieved: int = Field(
        50, ge=1, le=200, description="Texts of the corpora that are looked at for a request."
    )
    retrieve_seconds: _Seconds = Field(10, description="Seconds for finding them.")
    gaps_model: str = Field("", description="Model that says what to look for on the web.")
    gaps_temperature: _Temperature = Field(_NOT_SENT, description="Its temperature.")
    gaps_seconds: _Seconds = Field(10, description="Seconds for it; then nothing is looked for.")
    queries: int = Field(5, ge=1, le=5, description="The most searches of the web for a request.")
    web_seconds: _Seconds = Field(8, description="Seconds for searching and reading pages.")
    internal_boost: float = Field(
        1.5, ge=1, le=10, description="What a text of a corpus weighs beside one of the web."
    )
    per_site: int = Field(2, ge=1, le=20, description="The most passages of one web site.")
    reranked: int = Field(
        24, ge=1, le=100, description="Passages that are ordered by how well they answer."
    )
    rerank_seconds: _Seconds = Field(
        5, description="Seconds for ordering them; else words alone decide."
    )
    passages: int = Field(8, ge=1, le=20, description="Passages that the evidence is taken from.")
    passage_length: int = Field(
        2400, ge=200, le=10_000, description="Characters of a passage that the model sees."
    )
    evidence_model: str = Field("", description="Model that takes facts from the passages.")
    evidence_temperature: _Temperature = Field(_NOT_SENT, description="Its temperature.")
    evidence_seconds: _Seconds = Field(30, description="Seconds for it; without facts no tweet.")
    write_model: str = Field("", description="Model that writes.")
    write_temperature: _Temperature = Field(_NOT_SENT, description="Its temperature.")
    write_seconds: _Seconds = Field(30, description="Seconds for it.")
    check: bool = Field(
        True, description="Whether a model compares each sentence with what it cites."
    )
    check_model: str = Field("", description="Model that compares; a cheaper one may do.")
    check_temperature: _Temperature = Field(_NOT_SENT, description="Its temperature.")
    check_seconds: _Seconds = Field(
        20, description="Seconds for it; after them the tweets are shown as not checked."
    )
    daily: int = Field(
        20, ge=-1, description="Times a day (UTC) that a person in a chat may ask; -1 no limit."
    )
