"""No two processes hold a lease at once; and the bench that says so would notice if they did."""

import json

import pytest

from bench import leases
from bench.terms import NOTE, Term, falls, late, overlaps, steps, terms


def term(process: str, fence: int, first: float, last: float) -> Term:
    return Term(process=process, fence=fence, first=first, last=last)


def test_notes_of_one_fence_are_a_term() -> None:
    notes = b"".join(NOTE.pack(*one) for one in [(1, 4, 0), (2, 4, 0), (3, 4, 0), (9, 6, 0)])
    cut_short = NOTE.pack(10, 6, 0)[:-1]
    assert terms("a", notes + cut_short) == [term("a", 4, 1, 3), term("a", 6, 9, 9)]
    assert terms("a", b"") == []


def test_a_clock_that_is_set_is_noticed() -> None:
    day = 86_400.0
    walls = [day, day + 0.5, 3 * day + 1, 3 * day + 9, day + 9.5]
    notes = b"".join(
        NOTE.pack(time, 1, wall) for time, wall in zip([0, 0.5, 1, 9, 9.5], walls, strict=True)
    )
    assert steps(notes) == 2


@pytest.mark.parametrize(
    ("found", "pairs"),
    [
        ([term("a", 1, 0, 1), term("b", 2, 1.1, 2), term("a", 3, 2.1, 3)], 0),
        ([term("a", 1, 0, 1), term("b", 2, 1, 2)], 1),
        ([term("a", 1, 0, 9), term("b", 2, 1, 2), term("c", 3, 3, 4)], 2),
        ([term("a", 1, 0, 9), term("a", 2, 9, 10)], 0),
    ],
)
def test_terms_that_overlap_are_found(found: list[Term], pairs: int) -> None:
    assert len(overlaps(reversed(found))) == pairs


def test_fences_that_do_not_rise_are_found() -> None:
    found = [term("a", 1, 0, 1), term("b", 2, 2, 3), term("a", 2, 4, 5), term("c", 1, 6, 7)]
    assert len(falls(found)) == 2


def test_rows_written_after_those_of_a_later_holder_are_counted() -> None:
    assert late([1, 1, 2, 2, 5]) == 0
    assert late([1, 2, 1, 1, 3, 2]) == 3


@pytest.mark.slow
def test_lease_bench_finds_no_violation_under_faults(capsys: pytest.CaptureFixture[str]) -> None:
    leases.main(["--quick"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    to_be = [row for row in rows if "right" in row]
    assert len(to_be) == 4
    assert [row["number"] for row in to_be] == [row["right"] for row in to_be], rows
    assert sum(row["number"] for row in rows if row.get("figure") == "terms") > 2
    assert sum(row["number"] for row in rows if row.get("figure") == "rows stored") > 0
