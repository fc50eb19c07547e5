from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.measures import (
    JudgedHeadline,
    read_headlines,
    read_qrels,
    require_judgments,
)
from engine.errors import InputError


@pytest.fixture
def headlines(tmp_path: Path) -> Path:
    return tmp_path / "headlines.jsonl"


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    return tmp_path / "qrels.tsv"


def test_headlines_are_read_in_order_with_kind_and_date(headlines: Path) -> None:
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


def test_qrels_are_read_by_headline_and_ids_stay_text(qrels: Path) -> None:
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
    ],
)
def test_an_unusable_headline_is_named_with_file_and_line(
    headlines: Path, line: str, reason: str
) -> None:
    headlines.write_text('{"qid": "first", "headline": "x"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_headlines(headlines)
    assert f"{headlines}, line 2" in str(error.value)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
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
def test_an_unusable_judgment_is_named_with_file_and_line(
    qrels: Path, line: str, reason: str
) -> None:
    qrels.write_text("a\t1\t3\n" + line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_qrels(qrels)
    assert f"{qrels}, line 2" in str(error.value)
    assert reason in str(error.value)


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
