"""What is sent to /api/compose, and its answer, which is what `presagio compose --json` prints."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bot.web.parameters import CorpusName, Text
from bot.web.schemas import UsageFigures
from engine.compose.types import SourceKind, StepName

_Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,20}(-[A-Za-z0-9]{2,8})?$")]


class ComposeBody(BaseModel):
    """What to write about, and from what."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    prompt: Text = Field(description="What to write about.", examples=["Coffee prices"])
    corpora: list[CorpusName] = Field(
        [],
        max_length=10,
        description="Corpora to take the evidence from; none: the configured or only one.",
    )
    language: _Language | None = Field(
        None, description="To write in, such as es; left out, the language of the prompt."
    )
    thread: bool = Field(False, description="A thread of 2 to 6 tweets.")
    variants: int = Field(1, ge=1, le=3, description="Variants to choose from.")
    web: bool = Field(True, description="Whether the web is asked for what the corpora lack.")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class TweetText(_Part):
    """One tweet."""

    text: str = Field(description="Each claim ends with the numbers of its sources.")
    length: int = Field(description="By the rules of X, which allows 280.")


class VariantAnswer(_Part):
    """One tweet, or the tweets of a thread."""

    tweets: list[TweetText]
    thread: bool
    checked: bool = Field(description="Whether a model compared each sentence with its sources.")
    unsupported: int = Field(description="Sentences that no model confirmed.")
    warnings: list[str]


class SourceAnswer(_Part):
    """A passage that is cited."""

    n: int = Field(description="What stands in the brackets.")
    title: str
    url: str | None
    page: int | None
    date: str | None
    kind: SourceKind
    quote: str = Field(description="Verbatim, at most 20 words.")
    author: str | None
    corpus: str | None
    recognised: bool = Field(description="Read in a picture by OCR, which makes mistakes.")


class RemovedAnswer(_Part):
    """A sentence, fact or variant that is not shown."""

    text: str
    why: str


class StepAnswer(_Part):
    """How one step went."""

    name: StepName
    elapsed_ms: float
    skipped: str | None = Field(description="Why it was left out or failed.")
    usage: UsageFigures | None
    model: str | None
    figures: dict[str, int]


class ComposeAnswer(_Part):
    """The variants with their sources; without variants, the notice says why."""

    prompt: str
    corpora: list[str]
    language: str | None
    variants: list[VariantAnswer]
    sources: list[SourceAnswer]
    removed: list[RemovedAnswer]
    steps: list[StepAnswer]
    usage: UsageFigures | None
    elapsed_ms: int
    prompt_version: str | None
    notice: str | None
