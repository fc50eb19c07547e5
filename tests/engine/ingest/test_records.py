"""Ids and digests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RecordError
from engine.ingest.records import Defaults, build_fingerprint, external_id, reject_record


@pytest.mark.parametrize(
    ("value", "identity"),
    [
        ("1131393056299786240", "1131393056299786240"),
        (1131393056299786240, "1131393056299786240"),
        (18446744073709551615, "18446744073709551615"),
        (" a-b ", "a-b"),
        ("1e5x", "1e5x"),
        (0, "0"),
    ],
)
def test_an_id_is_exact_text(value: object, identity: str) -> None:
    assert external_id(value) == identity


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no id"),
        ("", "no id"),
        ("  ", "no id"),
        (1.131393056299786e18, "last digits are lost"),
        ("1.13139E+18", "rounded by a spreadsheet"),
        ("1,13139E+18", "rounded by a spreadsheet"),
        ("1E+18", "rounded by a spreadsheet"),
        (True, "true or false"),
        ([1], "a list"),
        ({}, "an object"),
        ("a\x00b", "control characters"),
        ("\ud800", "control characters"),
        ("1" * 201, "longer than 200"),
    ],
)
def test_an_id_is_refused_with_the_reason(value: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        external_id(value)


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_digests_differ_where_records_differ(first: bytes, second: bytes) -> None:
    digest = build_fingerprint(Defaults(), "jsonl")
    assert (digest(first) == digest(second)) == (first == second)
    assert -(2**63) <= digest(first) < 2**63


def test_the_digest_depends_on_defaults_and_format() -> None:
    variants = [
        build_fingerprint(Defaults(), "jsonl"),
        build_fingerprint(Defaults(author="a"), "jsonl"),
        build_fingerprint(Defaults(), "api"),
        build_fingerprint(Defaults(), "x-archive", "a"),
    ]
    assert len({digest(b"{}") for digest in variants}) == 4


def test_the_digest_is_the_same_in_every_process() -> None:
    assert build_fingerprint(Defaults(), "jsonl")(b"{}") == -1838392610866160498


def test_a_reject_names_the_record_where_there_is_no_line() -> None:
    assert reject_record("f", "record", 17, "no id").reason == "record 17: no id"
    assert reject_record("f", "line", 17, "no id").reason == "no id"
