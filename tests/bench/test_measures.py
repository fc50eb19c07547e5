import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.measures import (
    JudgedHeadline,
    Qrels,
    Report,
    Run,
    evaluate,
    read_headlines,
    read_qrels,
    require_judgments,
)
from engine.errors import InputError


def asked(qid: str, kind: str | None = None) -> JudgedHeadline:
    return JudgedHeadline(qid=qid, headline=f"about {qid}", kind=kind, line=f"h, line {qid}")


def run(
    *ids: str,
    candidates: tuple[str, ...] | None = None,
    coverage: float = 0.5,
    score: float | None = 0.5,
) -> Run:
    return Run(
        ids=ids,
        candidates=ids if candidates is None else candidates,
        coverage=coverage,
        score=score,
    )


def measured(qrels: Qrels, runs: dict[str, Run], *more: JudgedHeadline) -> Report:
    return evaluate([*(asked(qid) for qid in qrels), *more], qrels, runs)


def test_figures_agree_with_hand_calculation() -> None:
    qrels = {"a": {"six": 6, "four": 4, "one": 1, "none": 0}}
    report = measured(qrels, {"a": run("none", "four", "one", "six", candidates=("four", "none"))})
    (row,) = report.rows
    gained = 15 / math.log2(3) + 1 / math.log2(4)
    ideal = 63 + 15 / math.log2(3) + 1 / math.log2(4)
    assert row.ndcg == pytest.approx(gained / ideal)
    assert row.precision == pytest.approx(1 / 3)
    assert row.recall == pytest.approx(1 / 2)
    assert row.judged == 1
    assert row.mean_label == pytest.approx((0 + 4 + 1) / 3)
    assert row.unjudged == 0


def test_unjudged_hits_count_as_zero_and_are_reported() -> None:
    report = measured({"a": {"1": 6}}, {"a": run("1", "new", "newer", "newest")})
    (row,) = report.rows
    assert row.mean_label == pytest.approx(2)
    assert row.judged == pytest.approx(1 / 3)
    assert row.unjudged == 2
    assert any(note.startswith("2 of the first 3 hits nobody has judged") for note in report.notes)


def test_a_headline_without_relevant_documents_is_left_out_of_recall() -> None:
    qrels = {"a": {"1": 4}, "b": {"2": 3}}
    report = measured(qrels, {"a": run("1"), "b": run("2")})
    assert [row.recall for row in report.rows] == [1, None]
    assert report.as_json()["recall"] == 1
    assert "left out of recall: b." in report.notes[0]


def test_a_search_that_finds_nothing_counts_as_nothing() -> None:
    qrels = {"a": {"1": 6}, "b": {"1": 6}}
    report = measured(qrels, {"a": run(), "b": run("1")})
    empty, full = report.rows
    assert (empty.ndcg, empty.precision, empty.recall, empty.judged, empty.mean_label) == (0,) * 5
    assert (full.ndcg, full.recall) == (1, 1)
    assert report.as_json()["nDCG@3"] == pytest.approx(1 / 2)


def test_no_match_headlines_are_reported_apart_with_their_top_scores() -> None:
    report = measured(
        {"a": {"1": 6}},
        {
            "a": run("1", coverage=0.9, score=0.8),
            "n": run("1", coverage=0.2, score=0.3),
            "m": run(coverage=0.0, score=None),
        },
        asked("n", "nomatch"),
        asked("m", "nomatch"),
    )
    figures = report.as_json()
    assert [row.qid for row in report.rows] == ["a"]
    assert (figures["headlines"], figures["nDCG@3"]) == (1, 1)
    assert figures["match"] == {"headlines": 1, "mean_coverage": 0.9, "mean_score": 0.8}
    assert figures["nomatch"] == {"headlines": 2, "mean_coverage": 0.1, "mean_score": 0.3}


def test_a_run_line_and_a_report_are_json() -> None:
    line = run("2", candidates=("1", "2")).as_json("a")
    assert json.loads(json.dumps(line)) == {"qid": "a", "ids": ["2"], "candidates": ["1", "2"]}
    figures = json.loads(json.dumps(measured({"a": {"1": 6}}, {"a": run("1")}).as_json()))
    assert figures["rows"][0]["qid"] == "a"
    assert figures["mean_label@3"] == pytest.approx(2)


@given(
    labels=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 6), min_size=1),
    ids=st.permutations("abcdefgh"),
)
def test_every_measure_stays_in_its_range_and_the_ideal_order_is_the_best(
    labels: dict[str, int], ids: list[str]
) -> None:
    ideal = sorted(labels, key=lambda one: -labels[one])
    (row,) = measured({"q": labels}, {"q": run(*ids)}).rows
    (best,) = measured({"q": labels}, {"q": run(*ideal)}).rows
    for value in (row.ndcg, row.precision, row.judged, row.mean_label / 6):
        assert 0 <= value <= 1
    assert row.ndcg <= best.ndcg + 1e-12
    assert row.mean_label <= best.mean_label
    assert best.ndcg == pytest.approx(1 if any(labels.values()) else 0)


def test_real_judgments_can_be_read_and_their_own_best_order_is_perfect(shared_data: Path) -> None:
    folder = shared_data / "judged"
    headlines = read_headlines(folder / "en.headlines.jsonl")
    qrels = read_qrels(folder / "en.qrels.tsv")
    runs = {
        headline.qid: run(*sorted(qrels[headline.qid], key=lambda d: -qrels[headline.qid][d]))
        for headline in headlines
    }
    figures = evaluate(headlines, qrels, runs).as_json()
    assert (figures["nDCG@3"], figures["recall"], figures["judged@3"]) == (1, 1, 1)
    assert figures["nomatch"]["headlines"] == 2  # type: ignore[index]  # a JSON value


def test_recall_is_reported_at_several_depths_with_the_upper_bound() -> None:
    right = {str(number): 4 for number in range(4)}
    others = [f"x{number}" for number in range(200)]
    candidates = ("0", *others[:100], "1", *others[100:], "2")
    (row,) = measured({"a": right}, {"a": run("0", candidates=candidates)}).rows
    assert row.recall_at == {80: 0.25, 150: 0.5, 240: 0.75}
    assert row.best == 1
    figures = measured({"a": {"1": 6}}, {"a": run("1")}).as_json()
    assert (figures["recall@80"], figures["best P@3"]) == (1, pytest.approx(1 / 3))
    (none,) = measured({"a": {"1": 3}}, {"a": run("1")}).rows
    assert (none.best, none.recall_at[80]) == (0, None)


def test_headlines_are_read_in_order_with_kind_and_date(tmp_path: Path) -> None:
    headlines = tmp_path / "headlines.jsonl"
    headlines.write_text(
        '\ufeff{"qid": "b", "headline": "Wall built", "kind": "real", "date": "2022-09-23"}\n'
        "\n"
        '{"qid": "a", "headline": "Más dólares", "date": "2022-09-23T10:00:00-03:00", "x": 1}\r\n'
        '{"qid": "c", "headline": "Volcano", "kind": "nomatch"}',
        encoding="utf-8",
    )
    found = read_headlines(headlines)
    assert [one.qid for one in found] == ["b", "a", "c"]
    assert found[0].kind == "real"
    assert found[0].date == datetime(2022, 9, 23, tzinfo=UTC)
    assert found[1].headline == "Más dólares"
    assert found[1].date == datetime(2022, 9, 23, 13, tzinfo=UTC)
    assert found[2].date is None
    assert [one.matchable for one in found] == [True, True, False]


def test_qrels_are_read_by_headline_and_ids_stay_text(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("a\t9007199254740993\t6\na\t007\t0\n\nb\t7\t4\n", encoding="utf-8")
    assert read_qrels(qrels) == {"a": {"9007199254740993": 6, "007": 0}, "b": {"7": 4}}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"qid": "a", "headline": ', "not valid JSON"),
        ('["a", "b"]', "not a JSON object"),
        ('{"headline": "x"}', "'qid'"),
        ('{"qid": 7, "headline": "x"}', "'qid'"),
        ('{"qid": "a", "headline": "  "}', "'headline'"),
        ('{"qid": "a", "headline": "x", "kind": 3}', "'kind'"),
        ('{"qid": "a", "headline": "x", "date": "yesterday"}', "ISO date"),
        ('{"qid": "a", "headline": "x", "date": "2020-01-01 10:00"}', "no zone"),
        ('{"qid": "first", "headline": "x"}', "twice"),
        ("a\t2", "tabs"),
        ("a 2 3", "tabs"),
        ("a\t0\t2\t3", "tabs"),
        ("a\t\t3", "tabs"),
        ("a\t2\t7", "0 to 6"),
        ("a\t2\t-1", "0 to 6"),
        ("a\t2\t4.0", "0 to 6"),
        ("a\t1\t3", "twice"),
    ],
)
def test_an_unusable_headline_or_judgment_is_named_with_file_and_line(
    tmp_path: Path, line: str, reason: str
) -> None:
    of_json = line.startswith(("{", "["))
    good = '{"qid": "first", "headline": "x"}' if of_json else "a\t1\t3"
    file = tmp_path / "file"
    file.write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        (read_headlines if of_json else read_qrels)(file)
    assert f"{file}, line 2" in str(error.value)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("read", [read_headlines, read_qrels])
def test_a_file_that_is_missing_empty_or_not_text_is_named(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_bytes(b"\n\n")
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing", empty, binary, tmp_path):
        with pytest.raises(InputError, match=str(path)):
            read(path)


def test_a_headline_without_judgments_is_refused_unless_nothing_is_to_be_found() -> None:
    asked = JudgedHeadline(qid="a", headline="x", line="h.jsonl, line 4")
    hopeless = JudgedHeadline(qid="b", headline="y", kind="nomatch")
    require_judgments([asked, hopeless], {"a": {"1": 0}})
    with pytest.raises(InputError, match=r"h\.jsonl, line 4.*'a'"):
        require_judgments([asked, hopeless], {"a": {}, "b": {"1": 1}})
