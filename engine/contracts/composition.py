"""A composition as programs read it: on the command line, over HTTP and as a tool."""

from typing import Self

from pydantic import Field

from engine.compose.composition import (
    ComposedSource,
    Composition,
    SourceKind,
    Step,
    StepName,
    Variant,
)
from engine.contracts.answers import AnswerModel, UsageFigures
from engine.corpora import iso_moment
from engine.values import DateKind


class TweetText(AnswerModel):
    """One tweet."""

    text: str = Field(description="Each claim ends with the numbers of its sources.")
    length: int = Field(description="By the rules of X, which allows 280.")


class VariantAnswer(AnswerModel):
    """One tweet, or the tweets of a thread."""

    tweets: list[TweetText]
    thread: bool
    checked: bool = Field(description="Whether a model compared each sentence with its sources.")
    unsupported: int = Field(description="Sentences that no model confirmed.")
    warnings: list[str]
    sources: "list[SourceAnswer]" = Field(description="What its numbers stand for.")

    @classmethod
    def of(cls, variant: Variant) -> Self:
        """Return a variant."""
        return cls.copy_fields(
            variant,
            tweets=list(map(TweetText.copy_fields, variant.tweets)),
            sources=list(map(SourceAnswer.of, variant.sources)),
        )


class SourceAnswer(AnswerModel):
    """A passage that is cited."""

    n: int = Field(description="What stands in the brackets.")
    title: str
    url: str | None
    page: int | None
    date: str | None
    dated_by: DateKind | None = Field(
        description="What the date tells, if not when it was written."
    )
    kind: SourceKind
    quote: str = Field(description="Verbatim, at most 20 words.")
    author: str | None
    corpus: str | None
    recognised: bool = Field(description="Read in a picture by OCR, which makes mistakes.")
    flags: list[str] = Field(description="What it is: repost, quote, reply and the like.")

    @classmethod
    def of(cls, source: ComposedSource) -> Self:
        """Return a source."""
        passage = source.passage
        return cls.copy_fields(
            passage,
            n=source.number,
            date=iso_moment(passage.date),
            quote=source.quote,
            recognised=passage.is_recognised,
            flags=list(passage.flags.names),
        )


class RemovedAnswer(AnswerModel):
    """A sentence, fact or variant that is not shown."""

    text: str
    why: str


class StepAnswer(AnswerModel):
    """How one step went."""

    name: StepName
    elapsed_ms: float
    skipped: str | None = Field(description="Why it was left out or failed.")
    usage: UsageFigures | None
    model: str | None
    figures: dict[str, int]

    @classmethod
    def of(cls, step: Step) -> Self:
        """Return a step."""
        elapsed_ms, usage = round(step.elapsed_ms, 1), UsageFigures.of(step.usage)
        return cls.copy_fields(step, elapsed_ms=elapsed_ms, usage=usage)


class ComposeAnswer(AnswerModel):
    """The variants with their sources; without variants, the notice says why."""

    prompt: str
    corpora: list[str]
    language: str | None
    variants: list[VariantAnswer]
    sources: list[SourceAnswer] = Field(description="Those of the first variant.")
    removed: list[RemovedAnswer]
    steps: list[StepAnswer]
    usage: UsageFigures | None
    elapsed_ms: int
    prompt_version: str | None
    notice: str | None

    @classmethod
    def of(cls, composition: Composition) -> Self:
        """Return a composition."""
        return cls.copy_fields(
            composition,
            prompt=composition.request.prompt,
            corpora=[corpus.name for corpus in composition.request.corpora],
            language=composition.language or composition.request.language,
            variants=list(map(VariantAnswer.of, composition.variants)),
            sources=[
                SourceAnswer.of(source)
                for variant in composition.variants[:1]
                for source in composition.sources_of(variant)
            ],
            removed=list(map(RemovedAnswer.copy_fields, composition.removed)),
            steps=list(map(StepAnswer.of, composition.steps)),
            usage=UsageFigures.of(composition.usage),
            elapsed_ms=round(composition.elapsed_ms),
        )
