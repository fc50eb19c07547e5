"""Texts of strangers lose what could lie or break, and keep what they say."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.card.typesetting import MARKS_PER_ROW, clean_line, clean_text, readable_tweet
from bot.replies.picture import drop_mentions
from tests.conftest import FEW_EXAMPLES

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\x00b\x1b[31mc\x7f", "ab[31mc"),
        (f"safe {BIDI_CONTROLS}text", "safe text"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("  a \t b\u00a0c  ", "a b c"),
        ("e\u0301", "é"),
        ("lone \ud83d surrogate", "lone surrogate"),
        ("private \ue000 and \uffff", "private and"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("\ufeffsoft\u00adhyphen", "softhyphen"),
    ],
)
def test_clean_text_on_known_inputs(raw: str, clean: str) -> None:
    assert clean_text(raw, 100) == clean


@FEW_EXAMPLES
@given(st.text(max_size=200), st.integers(1, 50))
def test_clean_text_removes_control_and_bidi_characters(raw: str, limit: int) -> None:
    clean = clean_text(raw, limit)
    assert len(clean) <= limit
    assert not set(clean) & set(BIDI_CONTROLS)
    assert not {c for c in clean if unicodedata.category(c) in {"Cc", "Cs", "Co", "Cn"}} - {"\n"}
    assert "\n\n\n" not in clean


@FEW_EXAMPLES
@given(st.text(max_size=80))
def test_clean_line_returns_a_single_line(raw: str) -> None:
    assert len(clean_line(raw, 100).splitlines()) <= 1


def test_stacked_combining_marks_are_limited() -> None:
    tower = "a" + "\u0323\u0330\u0331" * 50 + "b"
    clean = clean_text(tower, 1000)
    assert clean.startswith(("a", "ạ"))
    assert clean.endswith("b")
    assert sum(unicodedata.combining(c) > 0 for c in clean) <= MARKS_PER_ROW


def test_a_huge_text_is_not_read_to_its_end() -> None:
    assert clean_text("\u202e" * 1000 + "late", 10) == ""


@pytest.mark.parametrize(
    ("tweet", "read"),
    [
        ("The canal closes. https://t.co/AbC123 Watch.", "The canal closes.  Watch."),
        ("The canal closes. https://exam…", "The canal closes. "),
        ("The canal closes (HTTP…  \n", "The canal closes ("),
        ("The canal closes…", "The canal closes…"),
        ("Read https://example.org/… now", "Read https://example.org/… now"),
        ("See pic.twitter.com/abc…", "See "),
        ("https://t.co/abc https://t.co/d…", "https://t.co/abc https://t.co/d…"),
        ("", ""),
        ("Tea &amp; coffee &lt;3", "Tea & coffee <3"),
        ('"""Nobody knows"" @ana""', '"Nobody knows" @ana"'),
        ('She said """never"""', 'She said "never"'),
        ("mint.co/x costs", "mint.co/x costs"),
    ],
)
def test_readable_tweet_decodes_and_removes_short_and_truncated_links(
    tweet: str, read: str
) -> None:
    assert readable_tweet(tweet) == read


@pytest.mark.parametrize(
    ("tweet", "is_reply", "shown"),
    [
        ("@ana @luis_82 it will rain", False, "it will rain"),
        ("@ana It will rain, @luis", False, "It will rain, @luis"),
        ("@ana, it will rain", False, "it will rain"),
        ("@ana\n\n¿Lloverá?", False, "¿Lloverá?"),
        ("@ana it will rain", True, "it will rain"),
        ("@ana will bring rain", False, "@ana will bring rain"),  # who does something in it
        ("@ana's rain", True, "@ana's rain"),
        ("@ana 🔥 @luis", True, "🔥 @luis"),
        ("@ana @luis 🔥", True, "@ana @luis 🔥"),
        ("Rain, @ana", True, "Rain, @ana"),
    ],
)
def test_leading_mentions_are_dropped(tweet: str, is_reply: bool, shown: str) -> None:
    assert drop_mentions(tweet, is_reply=is_reply) == shown
