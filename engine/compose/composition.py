"""The frozen values of writing from evidence: request, passages, facts, drafts, composition."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from engine.answer.cited_answer import Passage as Found
from engine.messages import Message
from engine.settings.models import Voice
from engine.text.snippet import one_line
from engine.values import Corpus, DateKind, Flag, Usage, add_usage


class StepName(StrEnum):
    """The steps of a run, in order."""

    RETRIEVE = "retrieve"
    GAPS = "gaps"  # asks the model
    WEB = "web"
    MERGE = "merge"
    EVIDENCE = "evidence"  # asks the model
    WRITE = "write"  # asks the model
    GUARD = "guard"
    CHECK = "check"  # asks the model


class SourceKind(StrEnum):
    """Where a passage comes from."""

    INTERNAL = "internal"  # a corpus
    WEB = "web"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeRequest:
    """What to write about, and from what.

    `found` are texts that must be among the evidence, such as the hits of an answered headline;
    the corpora that they come from must be among `corpora`.
    """

    prompt: str
    corpora: tuple[Corpus, ...]
    language: str | None = None  # of the tweets: "en", "spanish"; None = the prompt's
    voice: Voice | None = None  # None = that of the settings
    thread: bool = False  # a thread; otherwise the writer chooses one only if one tweet is too few
    variants: int = 1  # 1..3
    web: bool = True  # False: no web search, whatever is missing
    found: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePassage:
    """A text that may be cited. `score` is its relevance, 0..1, without any boost."""

    key: str  # identity: corpus and id, or address and part
    kind: SourceKind
    text: str
    title: str  # of the item, the page, or the account
    score: float = 0.0
    date: datetime | None = None
    dated_by: DateKind | None = None  # what the date tells, if not when it was written
    url: str | None = None
    page: int | None = None  # of a library's item
    last_page: int | None = None
    page_label: str | None = None  # as printed
    last_label: str | None = None
    pages: int | None = None  # of the whole item
    section: str | None = None  # the heading above it
    author: str | None = None
    corpus: str | None = None
    gap: str | None = None  # the query for what the corpora lack, by which the web gave it
    cosine: float | None = None  # of its stored vector with the request, by the local model
    pinned: bool = False  # one of the request's own texts, used whatever its score
    flags: Flag = Flag.NONE

    @property
    def is_recognised(self) -> bool:
        """Whether it was read in a picture by OCR."""
        return Flag.RECOGNISED in self.flags


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedPassages:
    """What the corpora hold about a request, best first, and a notice about how it was found.

    `alike` are pairs of keys of passages whose stored vectors are nearly the same. `vectors` are
    the percentages of corpora that have vectors, on which it depends what is found.
    """

    passages: tuple[SourcePassage, ...] = ()
    alike: frozenset[frozenset[str]] = frozenset()
    vectors: Mapping[str, int] = field(default_factory=dict)
    notice: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement that a model took from a passage. The quote stands verbatim in the passage."""

    text: str
    quote: str
    passage: int  # number of the passage, from 1
    confidence: float  # 0..1, the model's own


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSentence:
    """One sentence of a draft without its marks, and the numbers of the passages that it cites."""

    text: str
    sources: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()  # numbers cited that no passage has
    # Whether it stands at the start of a line within its tweet, which changes nothing it says.
    starts_line: bool = field(default=False, compare=False)


Draft = tuple[tuple[DraftSentence, ...], ...]  # tweets of sentences; one tweet, or a thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Tweet:
    """A tweet as it may be published, with its length by the rules of X."""

    text: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One tweet or one thread, whose last tweet then lists the sources."""

    tweets: tuple[Tweet, ...]
    unsupported: int = 0  # sentences that cite sources, but that no model confirmed
    checked: bool = True  # False: the check of the facts failed or is switched off
    warnings: tuple[Message, ...] = ()  # such as names that occur in no source
    sources: "tuple[ComposedSource, ...]" = ()  # numbered in the order of their use

    @property
    def thread(self) -> bool:
        """Whether these are several tweets."""
        return len(self.tweets) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedSource:
    """A passage that a variant cites as [number]. Its link comes from the corpus or the fetch."""

    number: int
    passage: SourcePassage
    quote: str  # verbatim, at most 20 words


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A sentence, fact or variant that is not shown, and why."""

    text: str
    why: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How one step went. `skipped` says why it was left out or failed; the run went on."""

    name: StepName
    elapsed_ms: float = 0.0
    skipped: Message | None = None
    usage: Usage | None = None  # None: nothing was spent
    model: str | None = None  # that answered
    figures: Mapping[str, int] = field(default_factory=dict)  # what came out, and answer faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The outcome of a run. Without variants, the notice says why nothing was written."""

    request: ComposeRequest
    variants: tuple[Variant, ...] = ()
    sources: tuple[ComposedSource, ...] = ()  # of all variants, numbered on their own
    removed: tuple[Removal, ...] = ()
    steps: tuple[Step, ...] = ()
    facts: tuple[Fact, ...] = ()  # `passage` is a number among `passages`
    passages: tuple[SourcePassage, ...] = ()  # that the model was given, best first
    language: str | None = None  # ISO 639 code, as the writer named it
    notice: Message | None = None
    prompt_version: str | None = None

    def sources_of(self, variant: Variant) -> tuple[ComposedSource, ...]:
        """Return what the numbers of a variant stand for; one kept from before shares them all."""
        return variant.sources or self.sources

    @property
    def failed(self) -> bool:
        """Whether nothing was written because a model failed, and not for want of evidence."""
        needed = (StepName.EVIDENCE, StepName.WRITE)
        return not self.variants and any(
            step.skipped and step.name in needed for step in self.steps
        )

    @property
    def usage(self) -> Usage | None:
        """The usage of all steps; None if nothing was spent."""
        return add_usage(step.usage for step in self.steps)

    @property
    def elapsed_ms(self) -> float:
        """The time of all steps."""
        return sum(step.elapsed_ms for step in self.steps)


Progress = Callable[[StepName], None]  # called as each step begins


def cited_as(passage: SourcePassage) -> str:
    """Return how a passage is cited: its title, and where in it it stands."""
    title = one_line(passage.title, len(passage.title))
    return ", ".join(filter(None, (title, cited_place(passage))))


def cited_place(passage: SourcePassage) -> str:
    """Return the pages of a library's item as printed, or its section, or ""."""
    if passage.page is None:
        return passage.section or ""
    first, last = passage.page, passage.last_page or passage.page
    counted = f"{first}-{last}" if last > first else f"{first}"
    if not passage.page_label or passage.page_label == str(first):
        return f"{'pp.' if last > first else 'p.'} {counted}"
    printed = f"p. {passage.page_label}"
    if last > first and passage.last_label:
        printed = f"pp. {passage.page_label}-{passage.last_label}"
    return f"{printed} ({counted} of {passage.pages})"


class Support(StrEnum):
    """How far the cited passages support a sentence."""

    SUPPORTED = "supported"
    PARTLY = "partly"
    NOT = "not"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportVerdict:
    """What the model says of one sentence; `edit` is None if there is none.

    `sources` are those of its citations that support it; empty if the model does not say.
    """

    support: Support
    sources: tuple[int, ...] = ()
    edit: DraftSentence | None = None
