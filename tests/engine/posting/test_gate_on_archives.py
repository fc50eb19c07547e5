"""Judged in the order of promise, nearly all good stories are among the first half.

What nobody foretold is answered with silence, and little that is useful is lost by that.
"""

import random
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from bench.measures import JudgedHeadline, read_headlines, read_qrels
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.lexical import CandidateReader, LexicalIndex
from engine.embed.local import LocalEmbedder
from engine.ingest.isolated_reader import SourceReader
from engine.ingest.load import Loader
from engine.posting.choose import PROMISE_HITS, measure_promise
from engine.prophecy.headline import read_headline
from engine.prophecy.meaning import HeadlineReranker, Meaning
from engine.prophecy.prophecy import Prophet
from engine.search import SearchRequest
from engine.settings.searching import SearchSettings
from engine.values import Corpus, Kind
from tests.database import Clones, wait_for

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATIENT = SearchSettings(rerank_seconds=60)
_GOOD = 5  # judgment from which a chat is told by default


@dataclass(frozen=True)
class Archive:
    """One archive with real headlines in its language."""

    name: str
    language: str
    code: str
    kept: int  # judged headlines with a good tweet that must be judged

    async def load(self, url: str, data: Path) -> None:
        database = await Database.open(url)
        corpus = await Corpora(database).ensure(
            "archive", kind=Kind.TWEETS, language=self.language, author=None
        )
        documents = Documents(database)
        loader = Loader(documents, corpus, rejected=print, progress=lambda _: None)
        async with SourceReader() as reader:
            [source] = await reader.open_all(str(data / "tweets" / f"{self.name}.jsonl"))
            await loader.load(source)
        await loader.finish()
        await documents.settle(corpus)
        await database.close()


@pytest.fixture(
    scope="module",
    params=[
        Archive("trump_archive", "english", "en", kept=6),
        Archive("argentina_2019", "spanish", "es", kept=4),
    ],
    ids=["English", "Spanish"],
)
def archive(
    request: pytest.FixtureRequest, _clones: Clones, shared_data: Path
) -> Iterator[tuple[Archive, str]]:
    with _clones.clone() as url:
        wait_for(request.param.load(url, shared_data))
        yield request.param, url


@dataclass
class Gate:
    prophet: Prophet
    corpus: Corpus

    async def promised(self, title: str) -> float:
        """What a headline of today promises: the whole archive is older."""
        request = SearchRequest(
            headline=read_headline(title), limit=PROMISE_HITS, now=NOW, judged=False
        )
        return measure_promise(await self.prophet.prophesy(self.corpus, request))


@asynccontextmanager
async def open_archive(url: str) -> AsyncIterator[tuple[Database, Corpus]]:
    database = await Database.open(url)
    try:
        yield database, await Corpora(database).get("archive")
    finally:
        await database.close()


def read_judged(about: Archive, data: Path) -> Iterator[tuple[JudgedHeadline, Mapping[str, int]]]:
    """Yield the headlines that people judged, each with its labels."""
    labels = read_qrels(data / "judged" / f"{about.code}.qrels.tsv")
    for headline in read_headlines(data / "judged" / f"{about.code}.headlines.jsonl"):
        yield headline, labels.get(headline.qid, {})


async def test_unjudged_search_finds_nothing_for_most_unpredicted_headlines(
    archive: tuple[Archive, str], shared_data: Path
) -> None:
    about, url = archive
    async with (
        open_archive(url) as (database, corpus),
        LocalEmbedder() as model,
        HeadlineReranker(lambda _: model, Embeddings(database), PATIENT) as reranker,
    ):
        meaning = Meaning(
            embedder=lambda _: model,
            vectors=Embeddings(database),
            descriptions=CandidateReader(database),
            reranker=reranker,
        )
        prophet = Prophet(LexicalIndex(database), meaning=meaning)
        useful = answered = 0
        for headline, labels in read_judged(about, shared_data):
            request = SearchRequest(headline=read_headline(headline.headline), limit=3, now=NOW)
            answer = await prophet.prophesy(corpus, request)
            assert headline.matchable or not answer.hits
            answered += len(answer.hits)
            useful += sum(labels.get(hit.candidate.external_id, 0) >= 3 for hit in answer.hits)
        assert useful >= 0.75 * answered > 0


async def test_judging_half_of_all_stories_covers_the_good_ones(
    archive: tuple[Archive, str], shared_data: Path
) -> None:
    about, url = archive
    async with open_archive(url) as (database, corpus):
        gate = Gate(Prophet(LexicalIndex(database)), corpus)
        lines = (shared_data / "headlines" / f"{about.code}.jsonl").read_bytes().splitlines()
        rows = [orjson.loads(line) for line in random.Random(4).sample(lines, 200)]
        promised = sorted([await gate.promised(row["title"]) for row in rows], reverse=True)
        last_judged = promised[len(promised) // 2]
        good = [
            headline.headline
            for headline, labels in read_judged(about, shared_data)
            if max(labels.values(), default=0) >= _GOOD
        ]
        reached = sum([await gate.promised(headline) >= last_judged for headline in good])
        assert reached >= about.kept
