"""A question, the passages to answer it from, and the answer with its sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from engine.messages import Message
from engine.search import Hit, Mode
from engine.types import Corpus, Usage


class AnswerOutcome(StrEnum):
    """The kind of answer that a question got."""

    ANSWERED = "answered"  # by the model, with citations
    SILENT = "silent"  # the model says that the sources do not answer it
    EXTRACTED = "extracted"  # without a model: verbatim sentences of the sources
    NOTHING = "nothing"  # there are no sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question. `earlier` are the last questions of the same thread, oldest first."""

    text: str
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that an answer may be made from. The hit's score is its relevance, 0..1."""

    corpus: str
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """What the check says against a sentence; `text` is what the model had written."""

    text: str
    why: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of the model, cleaned, with the numbers of the passages that it cites.

    The numbers are only those of passages that the model was given. With an objection, the check
    corrected the text, or found it not `supported`.
    """

    text: str
    passages: tuple[int, ...]
    supported: bool = True  # False only if it was checked
    objection: Objection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A model's answer as it is cached. No claims: the passages do not answer it."""

    claims: tuple[Claim, ...]
    model: str | None = None
    prompt_version: str | None = None
    damage: Mapping[str, int] = field(default_factory=dict)  # faults of the answer, by kind
    checked: bool = False  # whether a model compared the claims with their passages


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaims:
    """Claims after the check. With a `failure`, no model checked them."""

    claims: tuple[Claim, ...]
    usage: Usage | None = None
    failure: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of an answer. `sources` are numbers of its sources, from 1."""

    text: str
    sources: tuple[int, ...]
    quoted: bool = False  # verbatim from a source
    supported: bool = True  # False: a check found that the sources do not say it

    def __str__(self) -> str:
        """The sentence with a mark for each source: "So it is. [1][2]".

        It ends with [?] if it has no source, or none that supports it.
        """
        text = f"“{self.text}”" if self.quoted else self.text
        marks = [f"[{number}]" for number in self.sources]
        if not marks or not self.supported:
            marks.append("[?]")
        return f"{text} {''.join(marks)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A passage that the answer cites. `number` is the one in its marks."""

    number: int
    passage: Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """The answer to a question; sources are numbered in the order of their use."""

    question: Question
    outcome: AnswerOutcome
    corpora: tuple[str, ...] = ()  # that were searched
    sentences: tuple[Sentence, ...] = ()
    sources: tuple[CitedSource, ...] = ()
    passages: int = 0  # that were found, cited or not
    model: str | None = None
    prompt_version: str | None = None
    usage: Usage | None = None  # None: nothing was paid for
    cached: bool = False
    checked: bool = False  # by a model, sentence by sentence
    objections: tuple[Objection, ...] = ()  # of the check
    damage: Mapping[str, int] = field(default_factory=dict)
    notice: Message | None = None  # for the user, about how the answer was made
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None

    @property
    def text(self) -> str:
        """The sentences with their marks; "" if there are none."""
        return " ".join(str(sentence) for sentence in self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The passages for a question, best first, and how they were found."""

    corpora: tuple[Corpus, ...]
    passages: Sequence[Passage] = ()
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None
    notice: Message | None = None


class ClaimCheck(Protocol):
    """Compares claims with the passages that they cite."""

    @property
    def version(self) -> str:
        """The prompt and the model, for cache keys."""

    async def check(
        self, claims: Sequence[Claim], gathered: Gathered, *, now: datetime
    ) -> CheckedClaims:
        """Return the claims with the check's objections. Raises only what the ledger raises."""


class AnswerCache(Protocol):
    """A cache of answers, so that none is paid for twice.

    Methods raise the storage errors of engine.ports.
    """

    async def get(self, key: str) -> ModelAnswer | None:
        """Return the stored answer, or None."""

    async def put(self, key: str, answer: ModelAnswer, *, now: datetime) -> None:
        """Store an answer under its key."""
