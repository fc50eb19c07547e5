"""The benches still run, and what they time is right."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import (
    chat,
    find,
    ingest,
    many,
    passages,
    retrieval,
    scales,
    streaming,
)
from bench.store import opened
from engine.vectors import SCALES
from tests.db.vectors import require_vectors

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


def test_order_measures_match_hand_calculation() -> None:
    assert passages.measured([False, True, True]) == {"P@8": 0.25, "hit@8": 1.0, "MRR": 0.5}
    assert passages.measured([False] * 8 + [True]) == {"P@8": 0.0, "hit@8": 0.0, "MRR": 0.0}
    assert len(passages.read_questions(passages.QUESTIONS)) == 40
