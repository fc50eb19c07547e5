"""Judged in the order of promise, nearly all good stories are among the first half.

What nobody foretold is answered with silence, and little that is useful is lost by that.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from db.search.lexical import LexicalIndex
from engine.evaluate.measures import read_headlines, read_qrels
from engine.ingest.load import Loader
from engine.ingest.reading import SourceReader
from engine.posting.choose import HITS, promise
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.search import Candidate, Headline, SearchRequest, Verdict
from engine.values import Corpus, Kind
from tests.database import Clones, wait_for

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
_GOOD = 5  # judgment from which a chat is told by default


@dataclass(frozen=True)
class Archive:
    """One archive with real headlines in its language."""

    name: str
    language: str
    code: str
    kept: int  # judged headlines with a good tweet that must be judged
    useful: int  # of three hits each, unjudged, those that people gave 3 or more

    async def load(self, url: str, data: Path) -> None:
        database = await Database.open(url)
        corpus = await Corpora(database).ensure(
            "archive", kind=Kind.TWEETS, language=self.language, author=None, url_template=None
        )
        documents = Documents(database)
        loader = Loader(documents, corpus, rejected=print, progress=lambda _: None)
        async with SourceReader() as reader:
            await loader.load(await reader.open(str(data / "tweets" / f"{self.name}.jsonl")))
        await loader.finish()
        await documents.settle(corpus)
        await database.close()


@pytest.fixture(
    scope="module",
    params=[
        Archive("trump_archive", "english", "en", kept=6, useful=19),
        Archive("argentina_2019", "spanish", "es", kept=4, useful=8),
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
        request = SearchRequest(headline=read_headline(title), limit=HITS, now=NOW, judged=False)
        return promise(await self.prophet.prophesy(self.corpus, request))


@dataclass
class LabelJudge:
    """Judges as people did; what nobody labelled is the same broad topic at best."""

    labels: Mapping[str, int]

    async def judge(
        self, corpus: Corpus, headline: Headline, candidates: Sequence[Candidate], *, now: datetime
    ) -> Verdict:
        return Verdict(scores={one.id: self.labels.get(one.external_id, 1) for one in candidates})


async def test_what_nobody_foretold_is_answered_with_silence(
    archive: tuple[Archive, str], shared_data: Path
) -> None:
    about, url = archive
    database = await Database.open(url)
    corpus = await Corpora(database).get("archive")
    labels = read_qrels(shared_data / "judged" / f"{about.code}.qrels.tsv")
    useful = 0
    for one in read_headlines(shared_data / "judged" / f"{about.code}.headlines.jsonl"):
        known = labels.get(one.qid, {})
        request = SearchRequest(headline=read_headline(one.headline), limit=3, now=NOW)
        unjudged = await Prophet(LexicalIndex(database)).prophesy(corpus, request)
        judged = await Prophet(LexicalIndex(database), LabelJudge(known)).prophesy(corpus, request)
        if one.matchable:
            useful += sum(known.get(hit.candidate.external_id, 0) >= 3 for hit in unjudged.hits)
            assert judged.hits
        else:
            assert (unjudged.hits, judged.hits) == ((), ())
            assert unjudged.near
            assert judged.near
    assert useful >= about.useful
    await database.close()


async def test_good_stories_are_judged_when_half_of_all_are(
    archive: tuple[Archive, str], shared_data: Path
) -> None:
    about, url = archive
    database = await Database.open(url)
    gate = Gate(Prophet(LexicalIndex(database)), await Corpora(database).get("archive"))
    lines = (shared_data / "headlines" / f"{about.code}.jsonl").read_bytes().splitlines()
    rows = [orjson.loads(line) for line in random.Random(4).sample(lines, 500)]
    promised = sorted([await gate.promised(row["title"]) for row in rows], reverse=True)
    last_judged = promised[len(promised) // 2]
    judged = read_headlines(shared_data / "judged" / f"{about.code}.headlines.jsonl")
    labels = read_qrels(shared_data / "judged" / f"{about.code}.qrels.tsv")
    good = [one for one in judged if max(labels.get(one.qid, {"": 0}).values()) >= _GOOD]
    reached = sum([await gate.promised(one.headline) >= last_judged for one in good])
    assert reached >= about.kept
    await database.close()
