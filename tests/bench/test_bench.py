"""The benches still run, and what they time is right."""

import argparse
import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import (
    chat,
    expansion,
    find,
    ingest,
    many,
    outside,
    passages,
    retrieval,
    scales,
    streaming,
)
from bench.store import opened
from bench.timing import Output
from bot.app import open_app
from bot.settings import load_settings
from engine.vectors import SCALES
from tests.db.vectors import require_vectors
from tests.scenarios.stage import load_tweets

pytestmark = pytest.mark.slow

Rows = list[dict[str, Any]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], Rows]:
    """The JSON lines that a bench has written to stdout."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_retrieval_bench_finds_the_right_documents_in_every_system(
    shared_data: Path, printed: Callable[[], Rows]
) -> None:
    retrieval.main(["--quick", "--data", str(shared_data)])
    rows = printed()
    overlaps = {row["system"]: row["overlap"] for row in rows if "overlap" in row}
    ours = [share for name, share in overlaps.items() if str(name).startswith("presagio")]
    assert len(ours) == 6
    assert set(ours) == {1.0}
    for peer in ("bm25s numba", "bm25s numpy", "tantivy", "sqlite fts5"):
        assert overlaps[peer] == pytest.approx(1, abs=0.03)
    assert {row["documents"] for row in rows} == {5_000}
    assert [row for row in rows if row.get("clients") == retrieval.CLIENTS]


async def test_the_shipped_scale_matches_its_measurement(database_url: str) -> None:
    database = await opened(database_url, size=2)
    try:
        await require_vectors(database)
        found = scales.texts(scales.DEMO, 60)
        scale = await scales.measured(database, "tfidf", "demo", "english", found)
    finally:
        await database.close()
    shipped = SCALES["tfidf-384"]
    assert scale.mean == pytest.approx(shipped.mean, abs=0.04)
    assert scale.deviation == pytest.approx(shipped.deviation, abs=0.04)
    assert scale.same == pytest.approx(shipped.same, abs=0.01)


def test_ingest_bench_loads_every_record_in_every_system(
    shared_data: Path, printed: Callable[[], Rows]
) -> None:
    ingest.main(["--quick", "--data", str(shared_data)])
    rows = printed()
    assert [row["system"] for row in rows] == [
        "presagio",
        "presagio, unchanged",
        "plain COPY",
        "sqlite fts5",
    ]
    assert {row["records"] for row in rows} == {2_000}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_ingest_memory_does_not_grow_with_the_archive_and_survives_a_kill(
    printed: Callable[[], Rows],
) -> None:
    streaming.main(["--quick"])
    rows = printed()
    assert [row["lines"] for row in rows] == [20_000, 60_000, 60_000]
    stored = [int(str(row["inserted"])) for row in rows]
    assert stored[:2] == [20_000, 60_000]
    assert 0 < stored[2] <= 30_000  # half had been stored when it was killed
    for process in ("command_mb", "reader_mb"):
        short, long, _ = (int(str(row[process])) for row in rows)
        assert 0 < long < short + 15


def test_find_bench_agrees_with_a_full_scan(shared_data: Path, printed: Callable[[], Rows]) -> None:
    find.main(["--quick", "--data", str(shared_data)])
    rows = printed()
    compared = [row for row in rows if "query" in row]
    assert len(compared) == len(find.ENGLISH) + len(find.SPANISH) == 60
    assert [row for row in compared if not (row["same_set"] and row["right_order"])] == []
    assert len([row for row in compared if row["found"]]) > 30
    assert {row["system"] for row in rows if "p95_to_search" in row} == {
        "find",
        "find, filters alone",
        "search",
    }


def test_scale_bench_serves_many_corpora_and_chats(printed: Callable[[], Rows]) -> None:
    many.main(["--quick"])
    rows = {row["measured"]: row for row in printed()}
    assert (rows["corpora written"]["number"], rows["corpora written"]["failed"]) == (20, 0)
    assert rows["posts decided"]["number"] == 100
    assert {"idle round of deciding", "idle round of searching"} < set(rows)
    assert rows["backup"]["seconds"]
    assert rows["corpora written"]["server_cpu_seconds"]


def test_chat_bench_answers_every_concurrent_question_on_each_platform(
    shared_data: Path, printed: Callable[[], Rows]
) -> None:
    chat.main(["--quick", "--data", str(shared_data)])
    rows = printed()
    counted = {row["platform"]: row["answers"] for row in rows if "answers" in row}
    assert counted == dict.fromkeys(("telegram", "slack"), 23)
    assert all(row["worked_ms"] for row in rows if "p50_ms" in row)


def expand(folder: Path, **more: str) -> None:
    """Run the bench of phrases on files with these contents."""
    files = {
        "headlines": json.dumps({"qid": "a", "headline": "Brent climbs past a hundred"}),
        "qrels": "a\t1\t6\na\t2\t0",
        "expansions": json.dumps({"qid": "a", "phrases": ["pump and wages"]}),
    } | more
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    named = [part for name in files for part in (f"--{name}", str(folder / name))]
    expansion.main(["--corpus", "demo", "--candidates", "5", "--seconds", "", *named])


@pytest.fixture
def village(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(load_tweets(database_url, ("The pump eats your wages.", "Brent is a village.")))
    monkeypatch.setenv("DATABASE_URL", database_url)


@pytest.mark.usefixtures("village")
def test_phrases_are_measured_with_and_without(tmp_path: Path, printed: Callable[[], Rows]) -> None:
    expand(tmp_path)
    off, auto = printed()
    assert (off["expansion"], off["recall"], off["calls"]) == ("off", 0, 1)
    assert (auto["expansion"], auto["recall"], auto["calls"]) == ("auto", 1, 2)
    assert off["P@3"] == 0
    assert auto["P@3"] == auto["best P@3"] == pytest.approx(0.333)
    assert auto["recall 95%"] == [1, 1]
    assert (auto["shown"], auto["labelled 4+"], auto["unlabelled"]) == (1, 1, 0)
    tokens = [int(str(row["tokens"])) for row in (off, auto)]
    assert 400 < tokens[0] < tokens[1]


async def test_the_order_of_passages_is_measured_at_each_stage(
    database_url: str, tmp_path: Path, printed: Callable[[], Rows]
) -> None:
    await load_tweets(database_url, ("The pump eats your wages.", "Brent is a village."))
    questions = tmp_path / "questions.jsonl"
    lines = [("What eats your wages?", "pump"), ("Which village?", "Bre.t"), ("Wages?", "nothing")]
    questions.write_text(
        "\n".join(json.dumps({"question": text, "answer": answer}) for text, answer in lines)
    )
    environ = {"DATABASE_URL": database_url, "PRESAGIO_EMBEDDINGS__BACKEND": "null"}
    async with open_app(load_settings(environ=environ), progress=lambda _: None) as app:
        corpus = await app.corpora.get("demo")
        asked = passages.read_questions(questions)
        await passages.measure(app, corpus, asked, Output("passages"))
    rows = printed()
    assert [row["way"] for row in rows] == [
        *("words", "words and meaning", "chosen", "reranked by bm25")
    ]
    for row in rows:
        assert (row["questions"], row["hit@8"], row["MRR"]) == (3, 0.667, 0.667)
        assert row["P@8"] == pytest.approx(2 / 3 / 8, abs=0.001)


def test_order_measures_match_hand_calculation() -> None:
    assert passages.measured([False, True, True]) == {"P@8": 0.25, "hit@8": 1.0, "MRR": 0.5}
    assert passages.measured([False] * 8 + [True]) == {"P@8": 0.0, "hit@8": 0.0, "MRR": 0.0}
    assert len(passages.read_questions(passages.QUESTIONS)) == 40


DOCUMENTS = {"d1": "A ship is stuck in the canal", "d2": "Bread is dear", "d3": "The canal is wide"}
QUERIES = {"q1": "ship stuck canal", "q2": "price of bread", "q3": "nobody judged this canal"}


def beir(folder: Path) -> tuple[str, str, str]:
    """Write a small collection as BEIR's files."""
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        lines = (json.dumps({"_id": key, "title": "", "text": text}) for key, text in texts.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td3\t1\n")
    return "corpus.jsonl", "queries.jsonl", "qrels.tsv"


def tables(folder: Path) -> tuple[str, str, str]:
    """Write it as the tables of CheckThat!."""
    for name, texts in (("docs", DOCUMENTS), ("queries", QUERIES)):
        lines = (f"{key}\t{text}" for key, text in texts.items())
        (folder / f"{name}.tsv").write_text("id\ttext\n" + "\n".join(lines))
    (folder / "qrels").write_text("q1 0 d1 1\nq2 0 d3 1\nq3 0 d1 0\n")
    return "docs.tsv", "queries.tsv", "qrels"


@pytest.mark.parametrize("written", [beir, tables])
def test_foreign_test_collections_are_read_and_scored(
    written: Callable[[Path], tuple[str, str, str]], tmp_path: Path
) -> None:
    documents, queries, qrels = (tmp_path / name for name in written(tmp_path))
    assert outside.read_texts(documents) == DOCUMENTS
    assert outside.read_texts(queries) == QUERIES
    labels = outside.read_labels(qrels)
    assert labels == {"q1": {"d1": 1}, "q2": {"d3": 1}}
    rankings = {"q1": ["d1", "d3"], "q2": ["d2"]}
    assert outside.scored(labels, rankings) == {"MAP@5": 0.5, "nDCG@10": 0.5}


async def test_every_search_mode_answers_judged_queries(
    database_url: str, tmp_path: Path, printed: Callable[[], Rows]
) -> None:
    documents, queries, qrels = (tmp_path / name for name in beir(tmp_path))
    arguments = argparse.Namespace(
        documents=documents, queries=queries, qrels=qrels, language="english", seconds=0.3
    )
    await outside.measure(database_url, arguments, Output("outside"))
    rows = printed()
    assert [row["way"] for row in rows] == ["words", "answer by words", "answer"]
    assert {row["queries"] for row in rows} == {2}
    assert {row["MAP@5"] for row in rows} == {0.5}
