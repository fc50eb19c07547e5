"""What all stages share: corpora, flags of documents, usage of models, and what is to be closed."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag, StrEnum
from typing import Self, TypeVar

# Version of the rules that turn texts into words. A migration that changes the rules marks the
# documents indexed by older ones, and increments this number.
INDEX_VERSION = 4
_Number = TypeVar("_Number", int, float)


class Kind(StrEnum):
    """What a corpus is made of; chooses the scoring profile."""

    TWEETS = "tweets"
    SOCIAL = "social"
    PERSONAL = "personal"
    PUBLISHED = "published"
    LIBRARY = "library"


class CorpusRole(StrEnum):
    """The purpose of a corpus; decides when it is the default for a request that names none."""

    ARCHIVE = "archive"  # loaded by a user
    DEMONSTRATION = "demonstration"  # bundled; not used if there is an archive
    NEWS = "news"  # items of feeds; used only on request


class DateKind(StrEnum):
    """What the date of a document tells, where that is not when it was written or published."""

    CREATED = "created"  # when its file was made
    MODIFIED = "modified"  # when it was last changed, by its own account


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
    RECOGNISED = 128  # read in a picture by OCR, which makes mistakes
    JOINED = 256  # the text goes on with that of later posts
    CONTINUATION = 512  # the text belongs to that of an earlier post, and is searched there

    @classmethod
    def of(cls, *present: tuple["Flag", object]) -> "Flag":
        """Return the flags beside which something true stands."""
        flags = cls.NONE
        for flag, value in present:
            if value:
                flags |= flag
        return flags

    @property
    def passed_on(self) -> str | None:
        """How a text holds words of somebody else: "repost", "quote", or None if it does not."""
        return next((flag.names[0] for flag in (Flag.REPOST, Flag.QUOTE) if flag in self), None)

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
    url_template: str | None  # with placeholders "{author}" and "{id}"
    documents: int
    tokens: int  # total length of all documents, in lexemes counted with repetition
    languages: tuple[str, ...]  # every text-search language its documents use
    role: CorpusRole = CorpusRole.ARCHIVE
    glossary: int = 0  # version of the alias groups; 0 = there never were any
    description: str | None = None  # whose texts these are, for prompts
    display_name: str | None = None  # of the voice: "Ana Ruiz"
    has_avatar: bool = False
    index_version: int = INDEX_VERSION  # the oldest version among its documents
    postings: bool = False  # whether all its documents have postings, which long texts are found by
    in_parts: bool = False  # whether some of its documents are parts of items
    placed: bool = False  # whether its documents are on another machine than the statistics
    empty: int = 0  # documents without a lexeme, such as those that go on from another one

    @property
    def is_outdated(self) -> bool:
        """Whether some documents may still be indexed by an older version."""
        return bool(self.documents) and self.index_version < INDEX_VERSION

    @property
    def voice(self) -> str:
        """Whose texts these are, for people: the display name, the account or its own name."""
        return self.display_name or (f"@{self.author}" if self.author else self.name)

    @property
    def private(self) -> bool:
        """Whether it holds texts that were not written for the public."""
        return self.kind is Kind.PERSONAL

    @property
    def query_languages(self) -> tuple[str, ...]:
        """The languages for reading queries: those of its documents, or its own if it has none."""
        return self.languages or (self.language,)

    @property
    def searchable_documents(self) -> int:
        """How many of its documents have lexemes: those that BM25 counts."""
        return self.documents - self.empty

    @property
    def average_length(self) -> float:
        """Mean length in tokens of the documents that have any; 1.0 if none has."""
        return self.tokens / self.searchable_documents if self.tokens and self.documents else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredText:
    """A text to be put in order, and what is known about it already."""

    text: str
    score: float = 0.0  # relevance, 0..1, by what found it
    cosine: float | None = None  # of its stored vector with the query, by the local model
    has_peers: bool = True  # False: none of the texts beside it that a corpus holds has a vector


def _add_numbers(first: _Number | None, other: _Number | None) -> _Number | None:
    if first is None or other is None:
        return other if first is None else first
    return first + other


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model calls consumed; None means that the endpoint did not report it."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Sum each figure; if only one side knows a figure, take that one."""
        return Usage(
            prompt_tokens=_add_numbers(self.prompt_tokens, other.prompt_tokens),
            completion_tokens=_add_numbers(self.completion_tokens, other.completion_tokens),
            cost_usd=_add_numbers(self.cost_usd, other.cost_usd),
        )


def add_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Return what several calls consumed together; None if none did."""
    present = [usage for usage in usages if usage]
    return sum(present, Usage()) if present else None


class Closable(ABC):
    """Closed by `aclose`, or at the end of `async with`."""

    @abstractmethod
    async def aclose(self) -> None:
        """Release what it holds."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
