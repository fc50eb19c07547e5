"""The answers of several archives as one: best first, each hit with its voice, costs added up."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from engine.corpora import choose_corpora
from engine.errors import StorageUnreachable
from engine.prophecy.merge import merge_prophecies
from engine.prophecy.prophecy import Prophet, prophesy_from_all
from engine.search import Expansion, Headline, Mode, Prophecy, SearchRequest, Verdict
from engine.text.address import address_candidate
from engine.values import Corpus, CorpusRole, Usage
from tests.bot.conversing import corpus
from tests.bot.prophecies import NOW, make_hit, make_prophecy, make_term
from tests.patience import PATIENCE

ANA, LUIS = corpus("ana"), replace(corpus("luis"), display_name="Luis Pérez")
WEIGHTS = {"judgment": 0.65, "lexical": 0.25, "semantic": 0.1}
UNJUDGED = {"judgment": None, "lexical": 0.9, "age": 0.9, "semantic": None}
JUDGED = {**UNJUDGED, "judgment": 0.5}


def joined(*prophecies: Prophecy, limit: int = 3) -> Prophecy:
    return merge_prophecies(list(zip((ANA, LUIS), prophecies, strict=True)), limit, WEIGHTS)


def test_merged_hits_are_sorted_by_score_and_name_their_voice() -> None:
    first = make_prophecy(make_hit(1, score=0.9), make_hit(2, score=0.2))
    second = make_prophecy(make_hit(1, score=0.5, author=None), make_hit(2, score=0.4, author=None))
    both = joined(first, second)
    assert [(hit.rank, hit.score) for hit in both.hits] == [(1, 0.9), (2, 0.5), (3, 0.4)]
    assert [hit.candidate.voice or hit.candidate.author for hit in both.hits] == [
        *("ana", "Luis Pérez", "Luis Pérez")
    ]
    assert both.corpus == "all"


@pytest.mark.parametrize("swapped", [False, True])
def test_an_unjudged_hit_never_precedes_a_judged_one_of_another_archive(swapped: bool) -> None:
    judged = make_prophecy(make_hit(1, score=0.4, parts=JUDGED))
    guessed = make_prophecy(make_hit(1, score=0.9, parts=UNJUDGED))
    both = joined(*((guessed, judged) if swapped else (judged, guessed)))
    assert [(hit.rank, hit.score) for hit in both.hits] == [(1, 0.4), (2, 0.9)]


def test_a_text_of_an_archive_without_vectors_gains_nothing_by_that() -> None:
    known = {"judgment": None, "lexical": 0.6, "age": 0.9, "semantic": 0.6}
    unknown = {**known, "semantic": None}
    embedded = make_prophecy(make_hit(1, score=0.6, parts=known))
    bare = make_prophecy(make_hit(1, score=0.61, parts=unknown))
    first, second = joined(bare, embedded).hits
    assert first.score == 0.6
    assert second.score == pytest.approx(0.61 * 0.25 / 0.35)
    assert second.parts["semantic"] == 0.0


KEPT = Verdict(scores={1: 6}, cached=True)


@pytest.mark.parametrize(
    ("other", "cached"),
    [
        (KEPT, True),
        (Verdict(scores={}), True),
        (Verdict(scores={2: 1}), False),
        (Verdict(scores={}, usage=Usage(cost_usd=0.1)), False),  # a failure that was paid for
    ],
)
def test_a_merged_verdict_is_cached_only_if_every_part_is(other: Verdict, cached: bool) -> None:
    for first, second in ((KEPT, other), (other, KEPT)):
        both = joined(make_prophecy(verdict=first), make_prophecy(verdict=second))
        assert both.verdict.cached == cached
        assert both.usage == other.usage


def test_phrases_of_all_archives_are_merged_and_their_costs_summed() -> None:
    one = Expansion(phrases=("a", "b"), model="m", usage=Usage(cost_usd=0.01), seconds=0.5)
    two = Expansion(phrases=("b", "c"), model="m", usage=Usage(cost_usd=0.02), seconds=0.8)
    first, second = [replace(make_prophecy(verdict=KEPT), expansion=each) for each in (one, two)]
    both = joined(first, second)
    assert both.expansion == replace(one, phrases=("a", "b", "c"), usage=Usage(cost_usd=0.03))
    assert both.expansion.seconds == 0.8
    assert both.usage == Usage(cost_usd=0.03)
    late = replace(make_prophecy(), expansion=Expansion(late=True))
    assert joined(late, second).expansion == replace(two, late=True)


@pytest.mark.parametrize("swapped", [False, True])
def test_coverage_and_search_mode_are_merged_over_all_archives(swapped: bool) -> None:
    low = replace(make_prophecy(), coverage=0.2)
    high = replace(make_prophecy(), coverage=0.7, mode=Mode.HYBRID, embedding_model="m")
    both = joined(*((high, low) if swapped else (low, high)))
    assert (both.coverage, both.mode, both.embedding_model) == (0.7, Mode.HYBRID, "m")


def test_a_word_found_in_one_archive_is_not_reported_missing() -> None:
    near, exact = make_term("coffees", neighbour_of="coffee"), make_term("coffee")
    for first, second in ((near, exact), (exact, near)):
        both = joined(make_prophecy(terms=(first,)), make_prophecy(terms=(second,)))
        assert both.terms == (exact,)


@dataclass
class WaitingProphet(Prophet):
    """Answers each corpus once as many are asked as may be at once, or fails for one of them."""

    at_once: int
    failing: str = ""
    asked: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    full: asyncio.Event = field(default_factory=asyncio.Event)
    running: int = 0
    maximum: int = 0

    @property
    def weights(self) -> dict[str, float]:
        return WEIGHTS

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        self.asked.append(corpus.name)
        self.running += 1
        self.maximum = max(self.maximum, self.running)
        if self.running >= self.at_once:
            self.full.set()
        try:
            await self.full.wait()
            if corpus.name == self.failing:
                raise StorageUnreachable("The database is away.")
            if self.failing:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(corpus.name)
            raise
        finally:
            self.running -= 1
        return make_prophecy(make_hit(1, score=0.5), headline=request.headline)


REQUEST = SearchRequest(headline=Headline(text="Coffee", original="Coffee"), limit=3, now=NOW)


async def test_archives_are_asked_at_once_a_few_at_a_time() -> None:
    names = [f"archive{number}" for number in range(6)]
    prophet = WaitingProphet(at_once=4)
    corpora = [corpus(name) for name in names]
    async with asyncio.timeout(PATIENCE):
        found = await prophesy_from_all(prophet, corpora, REQUEST)
    assert len(found.hits) == 3
    assert prophet.asked == names
    assert prophet.maximum == 4


async def test_of_very_many_archives_the_largest_are_asked_and_that_is_said() -> None:
    corpora = [replace(corpus(f"a{number:04}"), documents=number) for number in range(5000)]
    prophet = WaitingProphet(at_once=4)
    async with asyncio.timeout(PATIENCE):
        found = await prophesy_from_all(prophet, corpora, REQUEST)
    assert prophet.asked == [f"a{number}" for number in range(4800, 5000)]
    assert str(found.notice).startswith("Of 5000 archives the 200 largest were searched")


async def test_one_failure_ends_the_search_of_all() -> None:
    prophet = WaitingProphet(at_once=2, failing="luis")
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(StorageUnreachable):
            await prophesy_from_all(prophet, [ANA, LUIS], REQUEST)
    assert prophet.cancelled == ["ana"]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"a": "archive", "b": "archive", "demo": "demonstration", "news": "news"}, ["a", "b"]),
        ({"demo": "demonstration", "news": "news"}, ["demo"]),
    ],
)
def test_all_selects_only_archives(roles: dict[str, str], expected: list[str]) -> None:
    known = [replace(corpus(name), role=CorpusRole(role)) for name, role in roles.items()]
    assert [one.name for one in choose_corpora(known, "all")] == expected


@pytest.mark.parametrize(
    ("written_by", "account", "shown"),
    [
        (None, None, (None, "Ana Ruiz")),
        (None, "ana", ("ana", "Ana Ruiz")),
        ("Ana", "@ana", ("Ana", "Ana Ruiz")),
        ("bob", "ana", ("bob", None)),  # a repost
        ("bob", None, ("bob", None)),  # one of several people, whatever the archive is called
    ],
)
def test_author_and_voice_come_from_the_text_or_else_its_archive(
    written_by: str | None, account: str | None, shown: tuple[str | None, str | None]
) -> None:
    known = replace(ANA, author=account, display_name="Ana Ruiz")
    found = address_candidate(replace(make_hit().candidate, author=written_by), known)
    assert (found.author, found.voice) == shown
