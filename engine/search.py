"""The values of a search for a headline: request, terms, candidates, verdict, hits, prophecy.

Every datetime has a time zone. External ids are text, never numbers: they exceed 2**53.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain

from engine.messages import Message, join_messages
from engine.values import DateKind, Flag, Usage, add_usage

HIGHEST_JUDGMENT = 6
FIRST_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC)


def order_by_date(created_at: datetime | None) -> tuple[bool, datetime]:
    """Return a sort key that puts the oldest first and what has no date last."""
    return created_at is None, created_at or _LAST_MOMENT


def describe_date(created_at: datetime | None, dated_by: DateKind | None) -> dict[str, str]:
    """Return the day of a text for a model, under the name of what it tells; {} without one."""
    if created_at is None:
        return {}
    return {dated_by or "date": created_at.astimezone(UTC).date().isoformat()}


class HitKind(StrEnum):
    """What a text is to the headline that it is shown for, by the model's judgment; best first."""

    PREDICTION = "prediction"  # says or fears that it would happen
    DEMAND = "demand"  # asks for it, or promises it
    MIRROR = "mirror"  # condemns in others what the headline tells of its own side
    EARLIER_CASE = "earlier case"  # reports something of the same kind that had happened before


class Mode(StrEnum):
    """How candidates are found."""

    LEXICAL = "lexical"  # by words alone
    RERANK = "rerank"  # by words; meaning only re-orders what they found
    HYBRID = "hybrid"  # by words and by meaning
    SEMANTIC = "semantic"  # by meaning alone: the nearest, whatever the distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that every document must meet; None means no condition.

    A text without a date is neither before nor after any; if `undated`, it passes `before`.
    """

    before: datetime | None = None  # exclusive
    after: datetime | None = None  # inclusive
    require: Flag = Flag.NONE
    exclude: Flag = Flag.NONE
    undated: bool = False

    @property
    def since(self) -> datetime | None:
        """The first moment that passes; None where texts without a date pass."""
        needs_date = self.before is not None and not self.undated
        return self.after or (FIRST_MOMENT if needs_date else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One word of the headline, with its lexemes in each language.

    A document matches the term if it contains any of the lexemes.
    """

    word: str  # as typed, for the receipt
    lexemes: tuple[str, ...]
    document_frequency: int  # documents that contain any of the lexemes
    max_tf: int  # its highest frequency in one document
    weight: float = 1.0  # below 1 for neighbours of unknown words, and for aliases
    neighbour_of: str | None = None  # the word as written, if this term replaces it
    alias: bool = False  # it replaces it by the glossary, not because of similar spelling
    # The languages that make each lexeme of the word, where texts are in several.
    read_in: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)

    @property
    def shown(self) -> str:
        """The term as receipts show it: an alias together with the word it replaces."""
        return f"{self.neighbour_of} → {self.word}" if self.alias else self.word


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A headline: its cleaned text and, if known, its own date.

    A date is `guessed` if the texts of the archive about the event tell it.
    """

    text: str
    original: str
    date: datetime | None = None
    guessed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search for a headline, independent of the corpus.

    If `judged` is false, no model is called. `mode` and `exclude_recent` (months before the
    headline) None use the settings. If `embeds` is false, no texts are embedded, whatever the mode:
    for callers that search hundreds of times. `patience` is how many seconds to wait for texts
    that are compared by meaning; None is what the settings say. With `passages`, several parts of
    one item may be hits; otherwise only the best one is.
    """

    headline: Headline
    limit: int  # of hits, and separately of near texts
    now: datetime
    filters: Filters = Filters()
    judged: bool = True
    mode: Mode | None = None
    exclude_recent: int | None = None
    embeds: bool = True
    patience: float | None = None
    passages: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPlace:
    """The item of a library that a text is a part of, and where in the item it stands."""

    item: int  # id of the item in the database
    title: str
    part: int = 1  # number of the part, from 1
    heading: str | None = None  # the headings above it, outermost first: "Results > Prices"
    page: int | None = None  # first page, from 1; None = the item has no pages
    last_page: int | None = None
    pages: int | None = None  # of the whole item
    page_label: str | None = None  # of the first page as printed, if its file tells
    last_label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document proposed by retrieval."""

    id: int
    external_id: str
    text: str
    context: str | None  # text of the message it answers, if that is searched too
    created_at: datetime | None  # None: nothing tells when it was written
    author: str | None
    url: str | None
    lang: str | None
    flags: Flag
    length: int  # tokens
    bm25: float
    matched: Mapping[int, int]  # index into the query's terms -> frequency in the text
    similarity: float | None = None  # by meaning, calibrated, 0..1; None = not known
    ranks: Mapping[str, int] = field(default_factory=dict)  # list that proposed it -> rank in it
    asked_for: Mapping[str, int] = field(default_factory=dict)  # phrase that found it -> rank
    place: ItemPlace | None = None  # of a part of a library's item
    voice: str | None = None  # display name of the archive's voice, if it wrote this
    platform: str | None = None  # where it was posted, if its source says so
    dated_by: DateKind | None = None  # what its date tells, if not when it was written
    corpus: str | None = None  # its name, in an answer from several
    # What is searched beside the text and is not its words: "image: A heron on the quay".
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Phrases that, according to a model, the account may have used for a headline's content.

    Empty if no model was called, or it did not answer.
    """

    phrases: tuple[str, ...] = ()
    model: str | None = None
    prompt_version: str | None = None
    usage: Usage | None = None  # None: nothing was spent
    cached: bool = False
    late: bool = False  # the model may still name some, for the next search
    seconds: float | None = field(default=None, compare=False)  # of the call, if there was one


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of judging candidates.

    `scores` maps candidate id to 0..6, for judged candidates only, and `kinds` some of those that
    scored high. `best` are the ids of the texts to show, which make different points, the one to
    forward first, and `event` those of texts about the event of the headline itself. `reasons`
    holds the model's short reasons for the best; they are an opinion, never a fact. `notice` tells
    the user why some or all candidates were not judged.
    """

    scores: Mapping[int, int]
    model: str | None = None
    prompt_version: str | None = None
    usage: Usage | None = None
    notice: Message | None = None
    cached: bool = False
    withheld: bool = False  # the model may not read this corpus, now or later
    damage: Mapping[str, int] = field(default_factory=dict)  # repaired answer faults, by kind
    kinds: Mapping[int, HitKind] = field(default_factory=dict)
    best: tuple[int, ...] = ()
    event: tuple[int, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)


def join_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the outcome of judging all candidates of some verdicts, at least one."""
    judging = [verdict for verdict in verdicts if verdict.scores]
    usage = add_usage(verdict.usage for verdict in verdicts if not verdict.cached)
    return replace(
        judging[0] if judging else verdicts[0],
        scores={key: score for verdict in verdicts for key, score in verdict.scores.items()},
        kinds={key: kind for verdict in verdicts for key, kind in verdict.kinds.items()},
        best=tuple(chain.from_iterable(verdict.best for verdict in verdicts)),
        event=tuple(chain.from_iterable(verdict.event for verdict in verdicts)),
        reasons={key: why for verdict in verdicts for key, why in verdict.reasons.items()},
        usage=usage,
        cached=bool(judging) and all(verdict.cached for verdict in judging) and usage is None,
        notice=join_messages(*dict.fromkeys(verdict.notice for verdict in verdicts)),
        withheld=all(verdict.withheld for verdict in verdicts),
        damage=dict(sum((Counter(verdict.damage) for verdict in verdicts), Counter())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A candidate with its final score, the parts of the score, and why it was found."""

    rank: int = 0  # in the answer, from 1; 0 until it has a place there
    candidate: Candidate
    score: float
    parts: Mapping[str, float | None]  # judgment, lexical, age, semantic: 0..1 each
    factors: Mapping[str, float]  # multipliers that were applied
    matched: tuple[str, ...]  # words of the headline, and neighbours of unknown ones
    kind: HitKind | None = None  # by the model; None if it did not judge the text, or named none
    why: str | None = None  # the model's reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Prophecy:
    """The answer to one headline."""

    headline: Headline
    corpus: str
    hits: tuple[Hit, ...]
    terms: tuple[Term, ...]
    candidates: tuple[str, ...]  # external ids that retrieval proposed, best first
    verdict: Verdict
    coverage: float  # highest share of the headline's idf covered by one candidate
    notice: Message | None  # about the search; that about judging is the verdict's
    near: tuple[Hit, ...] = ()  # too weak to be hits; shown on request
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None  # whose vectors were compared; None = no vectors were
    expansion: Expansion = Expansion()
    compared: int = 0  # number of best texts compared by meaning, if the corpus is not embedded
    unfinished: bool = False  # the best texts were still being compared when patience ended

    @property
    def judged(self) -> bool:
        """True if the language model judged at least one candidate."""
        return bool(self.verdict.scores)

    @property
    def usage(self) -> Usage | None:
        """The total usage of all model calls for it; None if nothing was spent."""
        judging = None if self.verdict.cached else self.verdict.usage
        naming = self.expansion.usage
        return judging + naming if judging and naming else judging or naming
