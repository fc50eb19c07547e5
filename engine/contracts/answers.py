"""Answers as programs read them: on the command line, over HTTP and as tools.

Each adapter dumps these models, so that a field is written once. Names may be added, never changed.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from engine.answer.cited_answer import (
    AnswerOutcome,
    CitedAnswer,
    CitedSource,
    Sentence,
    cited_excerpt,
)
from engine.compose.composition import (
    ComposedSource,
    Composition,
    SourceKind,
    Step,
    StepName,
    Variant,
)
from engine.corpora import iso_moment
from engine.prophecy.score import Sureness, rate_sureness
from engine.search import Candidate, Hit, HitKind, ItemPlace, Mode, Prophecy
from engine.values import DateKind, Usage

_DIGITS = 4
_LONGEST_CITED = 280  # characters
_SILENCE = "The sources do not say."


class AnswerModel(BaseModel):
    """The base class of what programs read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), defer_build=True
    )

    @classmethod
    def copy_fields(cls, source: object, **values: Any) -> Self:
        """Return an answer with `values`, and of `source` what the other fields are named after."""
        copied = cls.model_fields.keys() - values.keys()
        return cls.model_validate({name: getattr(source, name) for name in copied} | values)

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON has it."""
        return self.model_dump(mode="json")


class UsageFigures(AnswerModel):
    """What model calls consumed; null means that the endpoint did not say."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None

    @classmethod
    def of(cls, usage: Usage | None) -> Self | None:
        """Return the figures; None if nothing was consumed."""
        return None if usage is None else cls.copy_fields(usage)


class Parts(AnswerModel):
    """Parts of a score, 0 to 1 each; null: there is none."""

    judgment: float | None = Field(description="What the model says, of 6.")
    lexical: float | None = Field(description="Words in common.")
    age: float | None = Field(description="Older is higher.")
    semantic: float | None = Field(description="Similarity of meaning.")

    @classmethod
    def of(cls, parts: Mapping[str, float | None]) -> Self:
        """Return the parts of a score, rounded."""
        return cls.model_validate(
            {name: round_figure(parts.get(name)) for name in cls.model_fields}
        )


class ItemPart(AnswerModel):
    """The part of a document of a library that a text is."""

    title: str
    part: int = Field(description="Number of the part, from 1.")
    heading: str | None = Field(description="The headings above it, outermost first.")
    page: int | None
    last_page: int | None
    pages: int | None = Field(description="Of the whole document.")

    @classmethod
    def of(cls, place: ItemPlace | None) -> Self | None:
        """Return the place of a text; None for a text that is no part of an item."""
        return None if place is None else cls.copy_fields(place)


class FoundText(AnswerModel):
    """A text of a corpus."""

    id: str = Field(description="Id at the source, which is text.", examples=["1374658291"])
    created_at: str | None = Field(
        description="Null if nothing tells when it was written.",
        examples=["2012-03-14T09:30:00+00:00"],
    )
    dated_by: DateKind | None = Field(
        description="What the date tells, if not when it was written or published."
    )
    text: str
    place: ItemPart | None = Field(description="Null for what is no part of a document.")
    url: str | None
    author: str | None
    flags: list[str]


def text_values(candidate: Candidate) -> dict[str, Any]:
    """Return the values of FoundText."""
    return {
        "id": candidate.external_id,
        "created_at": iso_moment(candidate.created_at),
        "dated_by": candidate.dated_by,
        "text": candidate.text,
        "place": ItemPart.of(candidate.place),
        "url": candidate.url,
        "author": candidate.author,
        "flags": list(candidate.flags.names),
    }


class ProphecyHit(FoundText):
    """A text, its score and why it was found."""

    rank: int
    age: str | None = Field(
        description="How long before the headline.", examples=["8 years, 9 months before"]
    )
    score: float = Field(ge=0, le=1)
    parts: Parts
    factors: dict[str, float] = Field(description="Multipliers that were applied.")
    matched: list[str] = Field(description="Words of the headline that the text says.")
    kind: HitKind | None = Field(
        description="What the text is to the headline, by the model; null if it did not say."
    )
    sureness: Sureness | None = Field(description="How sure the answer is; null for what is near.")
    why: str | None = Field(description="What the model says of a text that it would show.")
    corpus: str | None = Field(description="Its corpus, in an answer from all of them.")
    proposed_by: dict[str, int] = Field(description="Ranks in the lists that proposed it.")
    asked_for: dict[str, int] = Field(description="Phrases that found it, and its rank for each.")

    @classmethod
    def of(cls, hit: Hit, *, age: str | None, near: bool = False) -> Self:
        """Return a hit, or a text that is only near, that old (`age`) when the headline came."""
        candidate = hit.candidate
        return cls(
            **text_values(candidate),
            rank=hit.rank,
            age=age,
            score=round(hit.score, _DIGITS),
            parts=Parts.of(hit.parts),
            factors={name: round(value, _DIGITS) for name, value in hit.factors.items()},
            matched=list(hit.matched),
            kind=hit.kind,
            sureness=None if near else rate_sureness(hit),
            why=hit.why,
            corpus=candidate.corpus,
            proposed_by=dict(candidate.ranks),
            asked_for=dict(candidate.asked_for),
        )


class ProphecyAnswer(AnswerModel):
    """What `presagio search --json` prints."""

    query: str
    headline: str = Field(description="The query without links and the name of the source.")
    date: str | None
    corpus: str
    judged: bool = Field(description="Whether a model judged any text.")
    model: str | None
    prompt_version: str | None
    cached: bool
    mode: Mode
    embedding_model: str | None
    compared: int = Field(
        description="Of the best texts, by meaning, where the corpus has too few vectors."
    )
    candidates: int
    coverage: float = Field(ge=0, le=1, description="Share of the headline that one text covers.")
    elapsed_ms: int
    phrases: list[str] = Field(
        description="What a model said that the account may have written about it."
    )
    phrases_ms: int | None = Field(
        description="How long the model took for them; null if it was not asked."
    )
    phrases_late: bool = Field(
        description="Whether the model had named none in time; they are kept for the next search."
    )
    usage: UsageFigures | None
    notice: str | None = Field(description="What a person should know about how this was found.")
    hits: list[ProphecyHit]
    near: list[ProphecyHit] = Field(description="Texts that are too weak to be hits.")

    @classmethod
    def of(
        cls,
        prophecy: Prophecy,
        *,
        age: Callable[[datetime | None], str | None],
        notice: str | None,
        elapsed_ms: float,
    ) -> Self:
        """Return a prophecy; `age` says how long before the headline a text was written."""
        headline, verdict, expansion = prophecy.headline, prophecy.verdict, prophecy.expansion

        def show_hit(hit: Hit, *, near: bool) -> ProphecyHit:
            return ProphecyHit.of(hit, age=age(hit.candidate.created_at), near=near)

        return cls.copy_fields(
            prophecy,
            query=headline.original,
            headline=headline.text,
            date=iso_moment(headline.date),
            model=verdict.model,
            prompt_version=verdict.prompt_version,
            cached=verdict.cached,
            candidates=len(prophecy.candidates),
            coverage=round(prophecy.coverage, _DIGITS),
            elapsed_ms=round(elapsed_ms),
            phrases=list(expansion.phrases),
            phrases_ms=None if expansion.seconds is None else round(expansion.seconds * 1000),
            phrases_late=expansion.late,
            usage=UsageFigures.of(prophecy.usage),
            notice=notice,
            hits=[show_hit(hit, near=False) for hit in prophecy.hits],
            near=[show_hit(hit, near=True) for hit in prophecy.near],
        )


class AnswerSentence(AnswerModel):
    """One sentence of an answer, with the numbers of its sources."""

    text: str
    sources: list[int]
    quoted: bool = Field(description="Taken from a source as it stands.")
    supported: bool | None = Field(
        description="Whether the check found it in its sources; null if it was not checked."
    )

    @classmethod
    def of(cls, sentence: Sentence, *, checked: bool) -> Self:
        """Return a sentence of an answer that was `checked` or not."""
        supported = sentence.supported if checked or not sentence.supported else None
        return cls.copy_fields(sentence, supported=supported)


class AnswerObjection(AnswerModel):
    """A sentence of the model that the check left out, marked or corrected."""

    text: str = Field(description="As the model had written it.")
    why: str


class CitedText(FoundText):
    """A text that the answer cites."""

    number: int = Field(description="What stands in the brackets.")
    corpus: str
    cited: str = Field(description="The part of the text that the answer is about.")
    relevance: float = Field(ge=0, le=1)
    matched: list[str]

    @classmethod
    def of(cls, source: CitedSource, answer: CitedAnswer) -> Self:
        """Return a source of the answer."""
        hit = source.passage.hit
        return cls(
            **text_values(hit.candidate),
            number=source.number,
            corpus=source.passage.corpus,
            cited=cited_excerpt(source, answer, longest=_LONGEST_CITED),
            relevance=round(hit.score, _DIGITS),
            matched=list(hit.matched),
        )


class QuestionAnswer(AnswerModel):
    """An answer to a question.

    Each sentence of `answer` ends with [n]. "The sources do not say." counts as an answer; null
    means that there is no source.
    """

    question: str
    earlier: list[str]
    corpora: list[str]
    outcome: AnswerOutcome = Field(
        description="answered by a model; silent: it says that the sources do not say; extracted:"
        " sentences of the sources, without a model; nothing was found."
    )
    answer: str | None = Field(
        description="Each claim ends with the numbers of its sources.", examples=["So it is. [1]"]
    )
    sentences: list[AnswerSentence]
    checked: bool = Field(description="Whether a second call compared it with its sources.")
    objections: list[AnswerObjection]
    passages: int = Field(description="Texts that were found, cited or not.")
    model: str | None
    prompt_version: str | None
    cached: bool
    mode: Mode
    embedding_model: str | None
    elapsed_ms: int
    usage: UsageFigures | None
    notice: str | None
    sources: list[CitedText]

    @classmethod
    def of(cls, answer: CitedAnswer, *, elapsed_ms: float) -> Self:
        """Return the answer that took so long."""
        checked, silent = answer.checked, answer.outcome is AnswerOutcome.SILENT
        return cls.copy_fields(
            answer,
            question=answer.question.text,
            earlier=answer.question.earlier,
            answer=_SILENCE if silent else answer.text or None,
            sentences=[AnswerSentence.of(said, checked=checked) for said in answer.sentences],
            objections=list(map(AnswerObjection.copy_fields, answer.objections)),
            elapsed_ms=round(elapsed_ms),
            usage=UsageFigures.of(answer.usage),
            sources=[CitedText.of(source, answer) for source in answer.sources],
        )


def round_figure(value: float | None) -> float | None:
    """Return a figure with four digits."""
    return None if value is None else round(value, _DIGITS)


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
