"""The frozen values that pass between the stages.

Every datetime carries a zone. External ids are text, never numbers: they pass 2**53.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum

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


def require_zone(moment: datetime) -> datetime:
    """Return `moment` unchanged; raise ValueError when it carries no zone."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"a time without a zone: {moment.isoformat()}")
    return moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One row that can be found, as ingest produces it."""

    external_id: str
    text: str  # as shown
    search_text: str  # as searched: engine.text.clean.searchable(text)
    created_at: datetime
    digest: int  # 64-bit signed hash of the source record; equal digest = unchanged
    author: str | None = None
    title: str | None = None
    role: str | None = None
    lang: str | None = None  # ISO 639-1; None = the language of the corpus
    url: str | None = None
    reply_to: str | None = None  # external id of the message this one answers
    platform: str | None = None  # mastodon, slack, markdown, ...; None = that of the corpus
    thread: str | None = None  # conversation, channel or folder
    attribution: str | None = None  # where it stands: "export/file#id", "linkedin:post/123"
    tags: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    engagement: int = 0  # likes plus reposts
    flags: Flag = Flag.NONE
    # Where known: device, attachments (names), participants, channel, app, domain, ...
    meta: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_zone(self.created_at)


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

    With `judged` false no model is asked. `mode` None leaves it to the settings.
    """

    headline: Headline
    limit: int  # of hits, and of what is only near
    now: datetime
    filters: Filters = Filters()
    judged: bool = True
    mode: Mode | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model calls consumed; None means the endpoint did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of judging candidates.

    `scores` maps candidate id to 0..6 and holds only what was judged.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A candidate with its final score, the parts of it, and why it was found."""

    rank: int
    candidate: Candidate
    score: float
    parts: Mapping[str, float | None]  # judgment, lexical, age, semantic: 0..1 each
    factors: Mapping[str, float]  # multipliers that were applied
    matched: tuple[str, ...]  # words of the headline, and neighbours of unknown ones


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
    near: tuple[Hit, ...] = ()  # judged too weak to be hits; shown to whoever asks for them
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None  # whose vectors were compared; None = nobody's

    @property
    def judged(self) -> bool:
        """True when the language model judged at least one candidate."""
        return bool(self.verdict.scores)
