"""How far compositions can be trusted, measured without people: traceability, and the guard.

What a model has to judge is counted apart: these figures are never mixed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import orjson

from bench.measures import read_lines
from engine.compose.composition import (
    Composition,
    Draft,
    DraftSentence,
    SourceKind,
    SourcePassage,
    Support,
)
from engine.compose.finish import CHECK_PROMPT, check_content, find_leads, read_checks
from engine.compose.guard import Finding, GuardFault, check_sentence, makes_claim
from engine.compose.quotations import normalise_quotation, stands_in
from engine.compose.tweets import LONGEST, SOURCES, tweet_length
from engine.compose.write import read_sentences, texts_of
from engine.errors import InputError
from engine.llm.asking import StepModel, ask_step

_Verdicts = Mapping[DraftSentence, bool]


class Flaw(StrEnum):
    """What was done to a sentence of the labelled set."""

    RIGHT = "right"
    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    SWAP = "swap"  # another actor of the same passage
    NEGATION = "negation"
    QUOTE = "quote"
    MISSING = "missing"  # no citation
    UNKNOWN = "unknown"  # a citation of nothing
    SUPERLATIVE = "superlative"


# What code cannot see: names only warn, and these two need a reader.
UNSEEN = frozenset({Flaw.NAME, Flaw.SWAP, Flaw.NEGATION})


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence as a model might write it, the passage that is its source [1], and its flaw."""

    text: str
    flaw: Flaw
    passage: SourcePassage
    before: tuple[SourcePassage, ...] = ()  # what the sentence before it cites


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """What the guard makes of labelled sentences."""

    sentences: int
    precision: float  # of the sentences it refuses, how many are wrong
    recall: float  # of the wrong sentences that code can see, how many it refuses
    recall_of_all: float  # of all wrong sentences
    by_flaw: Mapping[str, float]  # share refused
    names_warned: float  # share of wrong names that it warns of


def read_labelled(path: Path) -> tuple[LabelledSentence, ...]:
    """Read JSON lines: passages (passage, title, text; date) and sentences (cites, kind, text;
    before, the passages that the sentence before cites). Raises InputError.
    """
    passages: dict[str, SourcePassage] = {}
    found: list[LabelledSentence] = []
    for where, line in read_lines(path):
        try:
            entry = orjson.loads(line)
            if "passage" in entry:
                passages[entry["passage"]] = _read_passage(entry)
            else:
                flaw = Flaw(entry["kind"])
                before = tuple(passages[name] for name in entry.get("before", ()))
                cited = passages[entry["cites"]]
                found.append(LabelledSentence(entry["text"], flaw, cited, before))
        except (ValueError, KeyError, TypeError) as exc:
            raise InputError(f"{where}: {exc}") from exc
    return tuple(found)


def _read_passage(entry: Mapping[str, str]) -> SourcePassage:
    return SourcePassage(
        key=entry["passage"],
        kind=SourceKind.INTERNAL,
        text=entry["text"],
        title=entry["title"],
        date=datetime.fromisoformat(entry["date"]).replace(tzinfo=UTC) if "date" in entry else None,
    )


def find_faults(labelled: LabelledSentence) -> list[Finding]:
    """Return what the guard finds in a labelled sentence, read as a model's answer is."""
    read = read_sentences(labelled.text, texts_of([labelled.passage], [1]))
    passages = [labelled.passage, *labelled.before]
    before = range(2, len(passages) + 1)
    return [finding for sentence in read for finding in check_sentence(sentence, passages, before)]


def measure_guard(labelled: Sequence[LabelledSentence]) -> GuardReport:
    """Apply the guard to labelled sentences."""
    refused: Counter[Flaw] = Counter()
    warned = 0
    total = Counter(sentence.flaw for sentence in labelled)
    for sentence in labelled:
        found = find_faults(sentence)
        refused[sentence.flaw] += any(finding.vetoes for finding in found)
        named = any(finding.fault is GuardFault.NAME for finding in found)
        warned += sentence.flaw is Flaw.NAME and named
    wrong = {flaw: count for flaw, count in total.items() if flaw is not Flaw.RIGHT}
    seen = {flaw: count for flaw, count in wrong.items() if flaw not in UNSEEN}
    caught = sum(refused[flaw] for flaw in wrong)
    return GuardReport(
        sentences=len(labelled),
        precision=_measure_share(caught, caught + refused[Flaw.RIGHT]),
        recall=_measure_share(sum(refused[flaw] for flaw in seen), sum(seen.values())),
        recall_of_all=_measure_share(caught, sum(wrong.values())),
        by_flaw={
            flaw.value: _measure_share(refused[flaw], total[flaw]) for flaw in Flaw if total[flaw]
        },
        names_warned=_measure_share(warned, total[Flaw.NAME]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFigures:
    """How much of what is shown can be traced by code."""

    statements: int = 0  # sentences, quotes, links and lengths that were compared
    faults: tuple[str, ...] = ()

    def __add__(self, other: "TraceFigures") -> "TraceFigures":
        statements = self.statements + other.statements
        return TraceFigures(statements=statements, faults=(*self.faults, *other.faults))

    @property
    def share(self) -> float:
        """The share without a fault; 1 if nothing was shown."""
        return 1 - _measure_share(len(self.faults), self.statements) if self.statements else 1.0


def trace_composition(composition: Composition) -> TraceFigures:
    """Compare what is shown with its sources again, from the text of the tweets alone."""
    passages = [source.passage for source in composition.sources]
    faults: list[str] = []
    statements = 0
    for variant in composition.variants:
        for tweet in variant.tweets:
            statements += 1
            if tweet.length > LONGEST or tweet_length(tweet.text) != tweet.length:
                faults.append(f"length: {tweet.text}")
    for sentence in shown_sentences(composition):
        statements += makes_claim(sentence.text, composition.language)
        every = range(1, len(passages) + 1)
        found = check_sentence(sentence, passages, every, language=composition.language)
        vetoes = [finding for finding in found if finding.vetoes]
        faults += [f"{finding.fault.value}: {sentence.text}" for finding in vetoes[:1]]
    for source in composition.sources:
        statements += 1
        if not stands_in(source.quote, normalise_quotation(source.passage.text)):
            faults.append(f"quote: {source.quote}")
    return TraceFigures(statements=statements, faults=tuple(faults))


def shown_sentences(composition: Composition) -> tuple[DraftSentence, ...]:
    """Return the distinct sentences of all variants; sources are numbered among those of all."""
    drafts = _read_variants(composition)
    return tuple(
        dict.fromkeys(sentence for draft in drafts for tweet in draft for sentence in tweet)
    )


def _read_variants(composition: Composition) -> list[Draft]:
    """Return the sentences of each variant by tweets."""
    numbers = {source.passage.key: source.number for source in composition.sources}
    drafts: list[Draft] = []
    for variant in composition.variants:
        sources = composition.sources_of(variant)
        own = {source.number: numbers[source.passage.key] for source in sources}
        texts = [tweet.text for tweet in variant.tweets if not tweet.text.startswith(SOURCES)]
        read = [read_sentences(text, dict.fromkeys(own, text)) for text in texts]
        drafts.append(
            tuple(tuple(_renumber_sources(each, own) for each in tweet) for tweet in read)
        )
    return drafts


def _renumber_sources(sentence: DraftSentence, numbers: Mapping[int, int]) -> DraftSentence:
    sources = tuple(numbers[number] for number in sentence.sources)
    return replace(sentence, sources=sources, starts_line=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeCase:
    """A request of a file of cases."""

    id: str
    prompt: str
    language: str | None = None
    thread: bool = False


def read_cases(path: Path) -> tuple[ComposeCase, ...]:
    """Read JSON lines with prompt, and id, language, thread if known. Raises InputError."""
    return tuple(_read_cases(path))


def _read_cases(path: Path) -> Iterator[ComposeCase]:
    for number, (where, line) in enumerate(read_lines(path), start=1):
        try:
            entry = orjson.loads(line)
            yield ComposeCase(
                id=str(entry.get("id", number)),
                prompt=str(entry["prompt"]),
                language=entry.get("language"),
                thread=bool(entry.get("thread", False)),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise InputError(f"{where} is not a request with a prompt.") from exc


def _measure_share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportFigures:
    """What a model found of sentences and citations; `failed` compositions were not judged."""

    sentences: int = 0
    supported: int = 0
    citations: int = 0
    precise: int = 0
    failed: int = 0

    def __add__(self, other: "SupportFigures") -> "SupportFigures":
        own = zip(self.__slots__, astuple(self), astuple(other), strict=True)
        return SupportFigures(**{name: count + more for name, count, more in own})

    @property
    def share(self) -> float | None:
        """The share of sentences supported whole; None if nothing was judged."""
        return self.supported / self.sentences if self.sentences else None

    @property
    def precision(self) -> float | None:
        """The share of citations that count; None if nothing was judged."""
        return self.precise / self.citations if self.citations else None


async def measure_support(
    judge: StepModel, composition: Composition, *, length: int, now: datetime
) -> SupportFigures:
    """Have a model judge the sentences shown, in one call, or two if one cites several passages.

    A sentence that it passes over counts as not supported. Raises what the ledger raises.
    """
    shown = shown_sentences(composition)
    asked = [sentence for sentence in shown if sentence.sources]
    uncited = sum(makes_claim(sentence.text) for sentence in shown if not sentence.sources)
    if not asked:
        return SupportFigures(sentences=uncited)
    whole = await _judge_support(judge, composition, asked, length, now)
    if whole is None:
        return SupportFigures(failed=1)
    apart: _Verdicts | None = {}
    if others := list(
        dict.fromkeys(_list_subsets(sentence for sentence in asked if whole.get(sentence)))
    ):
        apart = await _judge_support(judge, composition, others, length, now)
    if apart is None:
        return SupportFigures(failed=1)
    return SupportFigures(
        sentences=len(asked) + uncited,
        supported=sum(whole.values()),
        citations=sum(len(sentence.sources) for sentence in asked),
        precise=sum(
            _count_precise_citations(sentence, apart) for sentence in asked if whole.get(sentence)
        ),
    )


def _list_subsets(sentences: Iterator[DraftSentence]) -> Iterator[DraftSentence]:
    """Yield each sentence with each of its sources alone, and with all but that one."""
    for sentence in sentences:
        if len(sentence.sources) > 1:
            for source in sentence.sources:
                yield replace(sentence, sources=(source,))
                yield _drop_source(sentence, source)


def _drop_source(sentence: DraftSentence, source: int) -> DraftSentence:
    return replace(sentence, sources=tuple(kept for kept in sentence.sources if kept != source))


def _count_precise_citations(sentence: DraftSentence, apart: _Verdicts) -> int:
    """Return how many citations of a supported sentence matter."""
    if len(sentence.sources) == 1:
        return 1
    return sum(
        apart.get(replace(sentence, sources=(source,)), False)
        or not apart.get(_drop_source(sentence, source), True)
        for source in sentence.sources
    )


async def _judge_support(
    judge: StepModel,
    composition: Composition,
    sentences: Sequence[DraftSentence],
    length: int,
    now: datetime,
) -> _Verdicts | None:
    """Return whether the passages support each sentence whole, or None if the model did not say."""
    passages = [source.passage for source in composition.sources]
    outcome = await ask_step(
        judge,
        CHECK_PROMPT,
        check_content(
            sentences, passages, length=length, leads=find_leads(_read_variants(composition))
        ),
        lambda text, damage: read_checks(text, damage, sentences, {}),
        corpora=composition.request.corpora,
        now=now,
        purpose="support",
    )
    if outcome.value is None:
        return None
    return {
        sentence: verdict.support is Support.SUPPORTED
        for sentence, verdict in outcome.value.items()
    }
