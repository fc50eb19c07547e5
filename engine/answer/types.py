"""A question, what it is answered from, and the answer with its sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from engine.messages import Message
from engine.types import Corpus, Hit, Mode, Usage


class AnswerOutcome(StrEnum):
    """What came of a question."""

    ANSWERED = "answered"  # the model says something, and cites it
    SILENT = "silent"  # the model says that the sources do not say
    EXTRACTED = "extracted"  # no model: sentences of the sources as they stand
    NOTHING = "nothing"  # there is no source


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked. `earlier` are the last questions of the same thread, oldest first."""

    text: str
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that an answer may be made from. The hit's score is its relevance, 0..1."""

    corpus: str
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of the model, cleaned, with the numbers of the passages that it names.

    Only numbers of passages that the model was given.
    """

    text: str
    passages: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What the model said, as it is cached. Without a claim, it says that the sources do not."""

    claims: tuple[Claim, ...]
    model: str | None = None
    prompt_version: str | None = None
    damage: Mapping[str, int] = field(default_factory=dict)  # kinds of faults of the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of an answer. `sources` are numbers of its sources, from 1."""

    text: str
    sources: tuple[int, ...]
    quoted: bool = False  # taken from a source as it stands

    def __str__(self) -> str:
        """The sentence with a mark for each source: "So it is. [1][2]", or [?] for none."""
        text = f"“{self.text}”" if self.quoted else self.text
        return f"{text} {''.join(f'[{number}]' for number in self.sources) or '[?]'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A passage that the answer cites. `number` is what stands in its brackets."""

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
    damage: Mapping[str, int] = field(default_factory=dict)
    notice: Message | None = None  # what a person should know about how it came about
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None

    @property
    def text(self) -> str:
        """The sentences with their marks; "" where there is none."""
        return " ".join(str(sentence) for sentence in self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The passages for a question, best first, and how they were found."""

    corpora: tuple[Corpus, ...]
    passages: Sequence[Passage] = ()
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None
    notice: Message | None = None


class AnswerCache(Protocol):
    """Answers that were paid for once. Methods raise the storage errors of engine.ports."""

    async def get(self, key: str) -> ModelAnswer | None:
        """Return the stored answer, or None."""

    async def put(self, key: str, answer: ModelAnswer, *, now: datetime) -> None:
        """Store an answer under its key."""
