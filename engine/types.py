"""The frozen values that pass between the stages.

Every datetime carries a zone. External ids are text, never numbers: they pass 2**53.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum
from typing import TypeVar

from engine.messages import Message

# By which rules texts become words. A migration that changes them marks what is indexed by older
# ones, and says the next number.
INDEX_VERSION = 2


class Kind(StrEnum):
    """What a corpus is made of; chooses the scoring profile."""

    TWEETS = "tweets"
    SOCIAL = "social"
    PERSONAL = "personal"
    PUBLISHED = "published"
    LIBRARY = "library"


class CorpusRole(StrEnum):
    """What a corpus is there for; decides when a request that names none means it."""

    ARCHIVE = "archive"  # what somebody loaded
    DEMONSTRATION = "demonstration"  # bundled; does not count beside an archive
    NEWS = "news"  # what the feeds bring; counts when asked for


class Mode(StrEnum):
    """How candidates are found."""

    LEXICAL = "lexical"  # by words alone
    RERANK = "rerank"  # by words; meaning only re-orders what they found
    HYBRID = "hybrid"  # by words and by meaning
    SEMANTIC = "semantic"  # by meaning alone: the nearest, however far


class Flag(IntFlag):
    """What is known about a document; stored as one integer."""

    NONE = 0
    REPOST = 1
    QUOTE = 2
    REPLY = 4
    MEDIA = 8
    TRUNCATED = 16
    DELETED = 32
    THREAD = 64  # the searched text also holds the text of the message it answers

    @property
    def names(self) -> tuple[str, ...]:
        """Lower-case names of the set flags, in the order of their bits."""
        return tuple(str(flag.name).lower() for flag in Flag if flag and flag in self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A named set of documents of one kind, with its statistics."""

    id: int
    name: str
    kind: Kind
    language: str  # text-search language: english, spanish, simple, ...
    author: str | None
    url_template: str | None  # "{author}" and "{id}" are filled in
    documents: int
    tokens: int  # total length of all documents, in lexemes counted with repetition
    languages: tuple[str, ...]  # every text-search language its documents use
    role: CorpusRole = CorpusRole.ARCHIVE
    glossary: int = 0  # version of the groups of aliases; 0 = there never was one
    description: str | None = None  # whose texts these are, for a model that has to know
    index_version: int = INDEX_VERSION  # the oldest by which a document may be indexed

    @property
    def outdated(self) -> bool:
        """Whether some documents may still be found by the words of an older version."""
        return bool(self.documents) and self.index_version < INDEX_VERSION

    @property
    def private(self) -> bool:
        """Whether it holds what people wrote for themselves or for some, not for everybody."""
        return self.kind is Kind.PERSONAL

    @property
    def read_in(self) -> tuple[str, ...]:
        """The languages in which words are read for it: those of its documents, else its own."""
        return self.languages or (self.language,)

    @property
    def average_length(self) -> float:
        """Mean document length in tokens; 1.0 for an empty corpus."""
        return self.tokens / self.documents if self.documents and self.tokens else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One thing the headline says: a word, with the lexemes it becomes in each language.

    A document matches the term when it holds any of the lexemes.
    """

    word: str  # as typed, for the receipt
    lexemes: tuple[str, ...]
    document_frequency: int  # documents that hold any of the lexemes
    max_tf: int  # highest number of times one document repeats it
    weight: float = 1.0  # below 1 for neighbours of unknown words, and for aliases
    neighbour_of: str | None = None  # what is written, where this term stands for it
    alias: bool = False  # it does so by the glossary, not because it looks alike

    @property
    def shown(self) -> str:
        """The term as receipts write it: an alias with what it stands for."""
        return f"{self.neighbour_of} → {self.word}" if self.alias else self.word


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that hold strictly; None means no condition."""

    before: datetime | None = None  # exclusive
    after: datetime | None = None  # inclusive
    require: Flag = Flag.NONE
    exclude: Flag = Flag.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """What is asked: cleaned text and, where known, its own date."""

    text: str
    original: str
    date: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is to be found for a headline, whatever the corpus.

    With `judged` false no model is asked. `mode` None leaves it to the settings. `embeds` false
    makes no vectors of texts, whatever the mode: for those who ask hundreds of times.
    """

    headline: Headline
    limit: int  # of hits, and of what is only near
    now: datetime
    filters: Filters = Filters()
    judged: bool = True
    mode: Mode | None = None
    embeds: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document that retrieval proposes."""

    id: int
    external_id: str
    text: str
    context: str | None  # text of the message it answers, when it is searched too
    created_at: datetime
    author: str | None
    url: str | None
    lang: str | None
    flags: Flag
    length: int  # tokens
    bm25: float
    matched: Mapping[int, int]  # index into the query's terms -> how often the text says it
    similarity: float | None = None  # of meaning, calibrated, 0..1; None = not known
    ranks: Mapping[str, int] = field(default_factory=dict)  # which list proposed it, and where
    asked_for: Mapping[str, int] = field(default_factory=dict)  # which phrase did, and where


_Number = TypeVar("_Number", int, float)


def _sum(one: _Number | None, other: _Number | None) -> _Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model calls consumed; None means the endpoint did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Sum figure by figure; of one that only one knows, that one."""
        return Usage(
            prompt_tokens=_sum(self.prompt_tokens, other.prompt_tokens),
            completion_tokens=_sum(self.completion_tokens, other.completion_tokens),
            cost_usd=_sum(self.cost_usd, other.cost_usd),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Phrases that the account may have used for what a headline tells, as a model says.

    There are none where no model was asked, or none answered.
    """

    phrases: tuple[str, ...] = ()
    model: str | None = None
    prompt_version: str | None = None
    usage: Usage | None = None  # None: nothing was spent
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of judging candidates.

    `scores` maps candidate id to 0..6 and holds only what was judged. `reasons` says in the
    model's few words why, for some that it scored high; they are an opinion, never a fact.
    `notice` says, for a person, why some or all candidates were not judged.
    """

    scores: Mapping[int, int]
    model: str | None = None
    prompt_version: str | None = None
    usage: Usage | None = None
    notice: Message | None = None
    cached: bool = False
    withheld: bool = False  # the model may not read this corpus, now or later
    damage: Mapping[str, int] = field(default_factory=dict)  # kinds of repaired answer faults
    reasons: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A candidate with its final score, the parts of it, and why it was found."""

    rank: int
    candidate: Candidate
    score: float
    parts: Mapping[str, float | None]  # judgment, lexical, age, semantic: 0..1 each
    factors: Mapping[str, float]  # multipliers that were applied
    matched: tuple[str, ...]  # words of the headline, and neighbours of unknown ones
    why: str | None = None  # what the model says of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Prophecy:
    """The answer to one headline."""

    headline: Headline
    corpus: str
    hits: tuple[Hit, ...]
    terms: tuple[Term, ...]
    candidates: tuple[str, ...]  # external ids that retrieval proposed, best first
    verdict: Verdict
    coverage: float  # highest share of the headline's idf that one candidate covers
    notice: Message | None
    near: tuple[Hit, ...] = ()  # too weak to be hits; shown to whoever asks for them
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None  # whose vectors were compared; None = nobody's
    expansion: Expansion = Expansion()
    compared: int = 0  # of the best texts, by meaning, where the corpus is not embedded

    @property
    def judged(self) -> bool:
        """True when the language model judged at least one candidate."""
        return bool(self.verdict.scores)

    @property
    def usage(self) -> Usage | None:
        """What all calls to models for it consumed; None: nothing was spent."""
        judging = None if self.verdict.cached else self.verdict.usage
        naming = self.expansion.usage
        return judging + naming if judging and naming else judging or naming
