"""The main job, on an index and a judge that hold little."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from engine.errors import StorageUnreachable
from engine.messages import Message
from engine.prophecy.expand import Phrases
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.ranking import Bm25
from engine.search import (
    Candidate,
    Expansion,
    Filters,
    Headline,
    Prophecy,
    SearchRequest,
    Term,
    Verdict,
    order_by_date,
)
from engine.settings.searching import ProphecySettings, SearchSettings
from engine.values import Corpus, Flag, Usage
from tests.engine.candidates import CORPUS as DEMO
from tests.engine.candidates import candidate

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
CORPUS = replace(
    DEMO,
    author="ana",
    url_template="https://x.example/{author}/status/{id}",
    documents=6,
    tokens=24,
)


@dataclass
class Index:
    """Texts in memory: words are lexemes, any shared word makes a candidate."""

    texts: Sequence[Candidate]
    asked: list[tuple[str, Filters, int]] = field(default_factory=list)

    async def terms(self, corpus: Corpus, text: str) -> list[Term]:
        self.text = text
        words = dict.fromkeys(text.lower().split())
        return [
            Term(word=w, lexemes=(w,), document_frequency=len(self._holding(w)), max_tf=9)
            for w in words
        ]

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> list[Candidate]:
        self.asked.append((self.text, filters, limit))
        found = []
        for text in self.texts:
            words = text.text.lower().split()
            matched = {i: words.count(t.word) for i, t in enumerate(terms) if t.word in words}
            assert text.created_at
            in_time = filters.before is None or text.created_at < filters.before
            in_time = in_time and (filters.after is None or text.created_at >= filters.after)
            if matched and in_time:
                score = sum(Bm25().part(tf, len(words), 4) for tf in matched.values())
                found.append(replace(text, matched=matched, length=len(words), bm25=score))
        return sorted(found, key=lambda c: -c.bm25)[:limit]

    def _holding(self, word: str) -> list[Candidate]:
        return [text for text in self.texts if word in text.text.lower().split()]


@dataclass
class StandInJudge:
    """Gives the scores it was given, and notes whom it was asked about."""

    scores: Mapping[int, int]
    notice: Message | None = None
    event: tuple[int, ...] = ()
    asked: list[list[int]] = field(default_factory=list)

    async def judge(
        self, corpus: Corpus, headline: Headline, candidates: Sequence[Candidate], *, now: datetime
    ) -> Verdict:
        self.asked.append([c.id for c in candidates])
        return Verdict(
            scores={c.id: self.scores[c.id] for c in candidates if c.id in self.scores},
            model="stand-in",
            prompt_version="1",
            usage=Usage(prompt_tokens=10),
            notice=self.notice,
            event=self.event,
        )


def said(identity: int, text: str, year: int, flags: Flag = Flag.NONE) -> Candidate:
    made = candidate(identity, text, created_at=datetime(year, 1, 1, tzinfo=UTC))
    return replace(made, flags=flags, url=None)


TEXTS = (
    said(1, "coffee prices will soar one day", 2012),
    said(2, "Coffee prices will soar one day!", 2016),
    said(3, "my coffee is cold", 2014),
    said(4, "prices prices prices", 2015),
    said(5, "nothing to see", 2013),
    said(6, "coffee prices did soar today", 2024),
)


async def ask(
    text: str = "coffee prices soar",
    *,
    judge: StandInJudge | None = None,
    index: Index | None = None,
    date: datetime | None = None,
    filters: Filters | None = None,
    settings: ProphecySettings | None = None,
    limit: int = 3,
    judged: bool = True,
    corpus: Corpus = CORPUS,
    now: datetime = NOW,
    exclude_recent: int | None = None,
) -> Prophecy:
    prophet = Prophet(index or Index(TEXTS), judge, settings=settings)
    request = SearchRequest(
        headline=read_headline(text, date=date),
        limit=limit,
        now=now,
        filters=filters or Filters(),
        judged=judged,
        exclude_recent=exclude_recent,
    )
    return await prophet.prophesy(corpus, request)


def ids(prophecy: Prophecy) -> list[int]:
    return [hit.candidate.id for hit in prophecy.hits]


async def test_search_without_a_judge_ranks_by_words_with_a_notice() -> None:
    prophecy = await ask()
    assert ids(prophecy)[0] == 1  # the oldest of its near-duplicates
    assert 2 not in ids(prophecy)
    assert not prophecy.judged
    assert prophecy.verdict.notice == "Not judged: no language model is set up."
    assert [hit.rank for hit in prophecy.hits] == [1, 2, 3]


async def test_the_judge_decides_the_order() -> None:
    judge = StandInJudge({3: 6, 1: 4, 4: 2, 6: 0})
    prophecy = await ask(judge=judge)
    assert ids(prophecy) == [3, 1]
    assert [hit.candidate.id for hit in prophecy.near] == [4]
    assert prophecy.judged
    assert prophecy.notice is None
    assert prophecy.verdict.usage == Usage(prompt_tokens=10)


@pytest.mark.parametrize(
    ("date", "newest"),
    [
        (None, 6),
        (datetime(2024, 1, 1, tzinfo=UTC), 4),  # a prophecy is older than its headline
        (datetime(2014, 1, 1, 0, 0, 1, tzinfo=UTC), 3),
        (datetime(2014, 1, 1, tzinfo=UTC), 1),
        (datetime(2999, 1, 1, tzinfo=UTC), 6),  # a date to come is now
    ],
)
async def test_a_prophecy_is_older_than_its_headline(date: datetime | None, newest: int) -> None:
    prophecy = await ask(date=date)
    found = [hit.candidate for hit in prophecy.hits]
    assert max(found, key=lambda one: order_by_date(one.created_at)).id == newest


async def test_the_strictest_of_all_limits_holds() -> None:
    settings = ProphecySettings(search=SearchSettings(exclude_recent_months=12))
    for given_before, expected in (
        (None, NOW - timedelta(days=12 * 30.44)),
        (NOW, NOW - timedelta(days=12 * 30.44)),
        (datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 1, tzinfo=UTC)),
    ):
        index = Index(TEXTS)
        filters = Filters(before=given_before, after=datetime(2012, 1, 1, tzinfo=UTC))
        await ask(index=index, settings=settings, filters=filters)
        assert index.asked[0][1] == replace(filters, before=expected)


@pytest.mark.parametrize("text", ["", "   ", "https://x.example/a", "\0"])
async def test_a_headline_without_words_gives_a_notice(text: str) -> None:
    prophecy = await ask(text, judged=False)
    assert prophecy.hits == ()
    assert prophecy.notice
    assert prophecy.notice.startswith("There is no word in this to look for.")


async def test_an_address_of_its_own_stays_and_odd_names_are_quoted() -> None:
    own = replace(said(1, "coffee", 2012), url="https://own.example/1")
    odd = replace(said(2, "more coffee please", 2013), author="a/b?", external_id="1#{author}")
    hits = (await ask("coffee", index=Index((own, odd)))).hits
    assert {hit.candidate.id: hit.candidate.url for hit in hits} == {
        1: "https://own.example/1",
        2: "https://x.example/a%2Fb%3F/status/1%23%7Bauthor%7D",
    }


async def test_concurrent_headlines_yield_to_other_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten at once must not keep everybody else waiting for ten times as long as one."""
    turns, thoughts = 0, []

    async def turning() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    def thought(candidates: Sequence[Candidate], **_: object) -> Sequence[Sequence[Candidate]]:
        thoughts.append(turns)
        return [[one] for one in candidates]

    monkeypatch.setattr("engine.prophecy.prophecy.group_alike", thought)
    prophet = Prophet(Index([candidate(1, "storm")]))
    other = asyncio.create_task(turning())
    requests = [
        SearchRequest(headline=read_headline(f"storm {number}"), limit=3, now=NOW)
        for number in range(10)
    ]
    await asyncio.gather(*(prophet.prophesy(CORPUS, request) for request in requests))
    other.cancel()
    assert len(set(thoughts)) == 10


async def test_copies_count_once_and_no_more_texts_are_judged_than_are_wanted() -> None:
    judge = StandInJudge({})
    texts = [candidate(n, f"storm number {chr(97 + n // 2) * 9}") for n in range(10)]
    settings = ProphecySettings(maximum=3, similarity=99)
    prophecy = await Prophet(Index(texts), judge, settings=settings).prophesy(
        CORPUS, SearchRequest(headline=read_headline("storm number"), limit=3, now=NOW)
    )
    assert [len(asked) for asked in judge.asked] == [3]
    assert len(prophecy.candidates) == 6


@dataclass
class StandInPhrases:
    """Names phrases, finds what says one of their words, and describes texts."""

    texts: Sequence[Candidate]
    named: Expansion = field(default_factory=Expansion)
    hangs: bool = False
    asked: int = 0
    cancelled: bool = False

    async def expand(self, corpus: Corpus, headline: Headline, *, now: datetime) -> Expansion:
        self.asked += 1
        try:
            await asyncio.sleep(60 if self.hangs else 0)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self.named

    async def rank_phrases(
        self, corpus: Corpus, phrases: Sequence[str], filters: Filters, limit: int
    ) -> list[list[int]]:
        return [
            [one.id for one in self.texts if set(one.text.split()) & set(phrase.split())][:limit]
            for phrase in phrases
        ]

    async def describe_documents(
        self, corpus: Corpus, terms: Sequence[Term], ids: Sequence[int]
    ) -> list[Candidate]:
        found = [one for one in self.texts if one.id in ids]
        return [replace(one, bm25=0.0, matched={}, length=5) for one in found]

    @property
    def all(self) -> Phrases:
        return Phrases(expander=self, index=self, descriptions=self)


LOST = ("harvest lost again", "no rain and no harvest", "a harvest of dust")
FULL = (*TEXTS, *(said(number, text, 2010) for number, text in enumerate(LOST, start=11)))
NONE = dict.fromkeys(range(20), 0)
NAMED = Expansion(phrases=("harvest ruined",), model="m", usage=Usage(prompt_tokens=3))


async def asked_with(
    phrases: StandInPhrases,
    *,
    judge: StandInJudge | None = None,
    settings: ProphecySettings | None = None,
    judged: bool = True,
    corpus: Corpus = CORPUS,
    index: Index | None = None,
) -> Prophecy:
    prophet = Prophet(index or Index(FULL), judge, settings=settings, phrases=phrases.all)
    request = SearchRequest(
        headline=read_headline("coffee prices soar"), limit=3, now=NOW, judged=judged
    )
    return await prophet.prophesy(corpus, request)


async def test_a_hit_found_only_by_a_phrase_is_judged_and_names_it() -> None:
    judge = StandInJudge(NONE | {12: 6, 1: 4})
    prophecy = await asked_with(StandInPhrases(FULL, NAMED), judge=judge)
    assert ids(prophecy) == [12, 1]
    assert prophecy.hits[0].candidate.asked_for == {"harvest ruined": 2}
    assert prophecy.expansion is NAMED
    assert prophecy.usage == Usage(prompt_tokens=13)


async def test_phrases_nobody_waits_for_any_more_are_given_up() -> None:
    class Broken(Index):
        async def top(self, *_: object, **__: object) -> list[Candidate]:
            await asyncio.sleep(0)
            raise StorageUnreachable("gone")

    phrases = StandInPhrases(FULL, NAMED, hangs=True)
    with pytest.raises(StorageUnreachable):
        await asked_with(phrases, judge=StandInJudge({}), index=Broken(FULL))
    assert phrases.cancelled


OLD_NEWS = (
    said(1, "coffee prices will soar one day", 2012),
    replace(said(2, "coffee prices soar", 2018), created_at=datetime(2018, 4, 13, tzinfo=UTC)),
    replace(said(3, "coffee soars on!", 2018), created_at=datetime(2018, 4, 15, tzinfo=UTC)),
    said(4, "coffee prices will soar again", 2020),
)


async def test_news_that_the_archive_told_itself_count_from_that_day() -> None:
    judge = StandInJudge({1: 5, 2: 5, 3: 0, 4: 6}, event=(3, 2))
    prophecy = await ask(judge=judge, index=Index(OLD_NEWS))
    assert (prophecy.headline.date, prophecy.headline.guessed) == (OLD_NEWS[1].created_at, True)
    assert (ids(prophecy), prophecy.near) == ([1], ())


async def test_the_last_months_before_old_news_are_left_out_too() -> None:
    late = replace(
        said(5, "coffee is going to soar", 2018), created_at=datetime(2018, 2, 1, tzinfo=UTC)
    )
    judge = StandInJudge({1: 5, 2: 5, 3: 0, 5: 6}, event=(3, 2))
    index = Index((*OLD_NEWS, late))
    assert ids(await ask(judge=judge, index=index)) == [5, 1]
    assert ids(await ask(judge=judge, index=index, exclude_recent=12)) == [1]


@pytest.mark.parametrize(
    ("event", "date"),
    [((), None), ((2,), None), ((1, 2), None), ((3, 2), datetime(2019, 1, 1, tzinfo=UTC))],
    ids=["none", "one text", "years apart", "dated"],
)
async def test_news_are_of_their_date_or_today_otherwise(
    event: tuple[int, ...], date: datetime | None
) -> None:
    judge = StandInJudge({1: 5, 2: 5, 3: 0, 4: 6}, event=event)
    prophecy = await ask(judge=judge, index=Index(OLD_NEWS), date=date)
    assert (prophecy.headline.date, prophecy.headline.guessed) == (date, False)
    assert 2 in ids(prophecy)
