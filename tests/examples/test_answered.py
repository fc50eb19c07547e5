"""What a general model answered about the bundled corpus, replayed through the search.

The model saw nothing but the prompt and the requests. Its phrases find what the headlines do not
say, and its judgments, where it gave some, are right.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from bench.measures import RIGHT, read_headlines, read_qrels
from db.corpus.corpora import Corpora
from db.pool import Database
from db.search.lexical import CandidateReader, LexicalIndex
from engine.prophecy.expand import MAX_PHRASES, Phrases, read_phrases
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.search import Candidate, Expansion, Headline, Prophecy, SearchRequest, Verdict
from engine.settings.searching import ProphecySettings
from engine.values import Corpus
from tests.database import pool_on
from tests.test_acceptance import EXAMPLES, demo_url

__all__ = ["demo_url"]

HEADLINES = read_headlines(EXAMPLES / "judged.headlines.jsonl")
LABELS = read_qrels(EXAMPLES / "judged.qrels.tsv")
ANSWERS = {
    row["qid"]: row["phrases"]
    for row in map(
        json.loads,
        (EXAMPLES / "answered.expansions.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FEW = 20  # candidates, of 416 texts


@dataclass
class Recorded:
    """The model's phrases for one headline, and judgments of it."""

    phrases: Sequence[str]
    scores: Mapping[str, int]  # by external id

    async def expand(self, corpus: Corpus, headline: Headline, *, now: datetime) -> Expansion:
        content = json.dumps({"phrases": self.phrases})
        return Expansion(phrases=read_phrases(content, headline=headline.text) or ())

    async def judge(
        self, corpus: Corpus, headline: Headline, candidates: Sequence[Candidate], *, now: datetime
    ) -> Verdict:
        return Verdict(
            scores={
                candidate.id: self.scores.get(candidate.external_id, 0) for candidate in candidates
            }
        )


@pytest.fixture
async def demo(demo_url: str) -> AsyncIterator[Database]:
    async with pool_on(demo_url) as database:
        yield database


async def answered(
    database: Database, qid: str, *, scores: Mapping[str, int], phrases: bool = True
) -> Prophecy:
    """Answer one headline with at most a few candidates."""
    (asked,) = [headline for headline in HEADLINES if headline.qid == qid]
    recorded = Recorded(ANSWERS[qid] if phrases else (), scores)
    index = LexicalIndex(database)
    prophet = Prophet(
        index,
        recorded,
        settings=ProphecySettings(maximum=FEW, max_with_phrases=FEW),
        phrases=Phrases(expander=recorded, index=index, descriptions=CandidateReader(database)),
    )
    request = SearchRequest(
        headline=read_headline(asked.headline, date=asked.date), limit=3, now=NOW
    )
    return await prophet.prophesy(await Corpora(database).get("demo"), request)


@pytest.mark.parametrize("qid", ANSWERS)
def test_recorded_answers_hold_six_phrases_and_six_posts(qid: str) -> None:
    read = read_phrases(json.dumps({"phrases": ANSWERS[qid]}))
    assert read is not None
    assert len(read) == MAX_PHRASES
    lengths = [len(one.split()) for one in read]
    assert max(lengths[:6]) <= 6 < min(lengths[6:])


async def test_recorded_phrases_find_texts_that_headlines_miss(demo: Database) -> None:
    found = {True: 0.0, False: 0.0}
    asked = [headline.qid for headline in HEADLINES if headline.matchable]
    for qid in asked:
        right = {one for one, label in LABELS[qid].items() if label >= RIGHT}
        for phrases in found:
            prophecy = await answered(demo, qid, scores=LABELS[qid], phrases=phrases)
            found[phrases] += len(right & set(prophecy.candidates)) / len(right) / len(asked)
    assert found[False] < 0.7
    assert found[True] > 0.85


@pytest.mark.parametrize("qid", [headline.qid for headline in HEADLINES if not headline.matchable])
async def test_phrases_alone_make_no_hit(demo: Database, qid: str) -> None:
    prophecy = await answered(demo, qid, scores=LABELS.get(qid, {}))
    assert prophecy.candidates
    assert prophecy.hits == ()
