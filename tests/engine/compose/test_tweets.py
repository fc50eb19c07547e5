"""Lengths by the rules of X, cutting at sentences, and the tweet of sources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.compose.tweets import LONGEST, fitting, sources_tweet, tweet_length, tweet_text
from engine.compose.types import DraftSentence
from engine.compose.write import read_drafts, read_sentences
from tests.engine.compose.bench import passage


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("coffee", 6),
        ("café", 4),
        ("日本", 4),
        ("👨‍👩‍👧", 2),
        ("see https://example.org/" + "x" * 100, 4 + 23),
        ("a" * 280, 280),
    ],
)
def test_lengths(text: str, length: int) -> None:
    assert tweet_length(text) == length


def test_sentences_and_their_marks() -> None:
    read = read_sentences(
        "Coffee is dear [1][3]. It fell in 2011.[2]\nWhy? **Bold** [4]", {1, 2, 3}
    )
    assert [(one.text, one.sources, one.unknown) for one in read] == [
        ("Coffee is dear.", (1, 3), ()),
        ("It fell in 2011.", (2,), ()),
        ("Why?", (), ()),
        ("Bold", (), (4,)),
    ]
    assert tweet_text(read, {1: 2, 2: 1, 3: 3}) == (
        "Coffee is dear. [2][3] It fell in 2011. [1]\nWhy? Bold [4]"
    )


def test_a_quotation_of_several_sentences_is_one() -> None:
    (one,) = read_sentences("She said “Coffee is dear. Tea is not. So it is.” in May [1].", {1})
    assert one.text.startswith("She said “Coffee is dear. Tea") and one.sources == (1,)


@given(st.text(max_size=600))
def test_what_is_read_fits_and_links_nowhere(text: str) -> None:
    kept = fitting(read_sentences(text, {1, 2}))
    shown = tweet_text(kept)
    assert tweet_length(shown) <= LONGEST
    assert "://" not in shown and "<" not in shown


def test_a_sentence_too_long_alone_is_none() -> None:
    assert fitting([DraftSentence(text="x" * 300, sources=(1,))]) == ()


def test_sources_have_links_or_titles_and_always_fit() -> None:
    linked = passage(url="https://example.org/" + "x" * 300)
    report = passage(title="Report of the grain board " * 20, url=None, page=12, date=None)
    tweet = sources_tweet([(1, linked), (2, report)])
    assert tweet.text.startswith(f"Sources:\n[1] {linked.url}\n[2] Report of the grain board")
    assert tweet.length <= LONGEST
    many = [(number, report) for number in range(1, 21)]
    assert sources_tweet(many).length <= LONGEST
    strange = passage(url="https://no-domain-of-x/" + "y" * 300, title="Strange", date=None)
    assert sources_tweet([(1, strange)]).text == "Sources:\n[1] Strange"
    unsafe = passage(title="T", url="javascript:alert(1)", date=None)
    assert sources_tweet([(1, unsafe)]).text == "Sources:\n[1] T"


@pytest.mark.parametrize(
    ("content", "variants"),
    [
        ('{"language": "en", "variants": [{"tweets": ["A [1]."]}]}', [["A. [1]"]]),
        ('```json\n{"variants": [["A [1]."], ["B [1]."]]}\n```', [["A. [1]"], ["B. [1]"]]),
        ('{"variants": [{"tweets": "A [1]."}]}', [["A. [1]"]]),
        ('{"variants": [{"tweets": ["A [1].", "Sources: [1] x"]}]}', [["A. [1]"]]),
        ('{"language": "en", "variants": [{"tweets": ["A [1]."]}, {"twe', [["A. [1]"]]),
        ('{"variants": [{"tweets": [1, null, {}]}, 7]}', []),
    ],
)
def test_drafts_are_read_tolerantly(content: str, variants: list[list[str]]) -> None:
    from collections import Counter

    read = read_drafts(content, Counter(), given={1}, variants=3)
    assert read is not None
    assert [[tweet_text(tweet) for tweet in draft] for draft in read.variants] == variants
