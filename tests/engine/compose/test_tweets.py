"""Lengths by the rules of X, cutting at sentences, and the tweet of sources."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.compose.tweets import LONGEST, fit_sentences, sources_tweet, tweet_length, tweet_text
from engine.compose.write import read_drafts, read_sentences, without_counters
from tests.engine.compose.bench import passage

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
POEM = "故人西辞黄鹤楼，烟花三月下扬州。" * 10
KANA = "あいうえおかきくけこ"
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
NO_DOMAIN = "https://" + "somesuperlongurl" * 249 + ".com/foo"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        # The cases that X published with its rules.
        ("Hi http://test.co", 26),
        ("http://test.co", 23),
        ("285 chars" + "-xxxxxxxxxx" * 25 + "-", 285),
        ("285 chars- http://www.twitter.com/jack " + "xxxxxxxxxx-" * 24, 299),
        (POEM, 320),
        ("A\ufb2c", 4),
        ("282 chars" + "-xxxxxxxxxx" * 24 + "-xxxxxA\u0301x", 281),
        (f"H🐱☺{FAMILY}", 7),
        ("🙋🏽👨\u200d🎤", 4),
        (
            "Long url with invalid domain labels and a short url: "
            f"{NO_DOMAIN} {NO_DOMAIN} {NO_DOMAIN} https://validurl.com",
            12_079,
        ),
        ("randomurl" * 7 + "s.com", 68),
        (f"{KANA * 12} http://{KANA * 5}あいう.com", 358),
        ("1\u20e3", 2),
        (f"Unicode 10.0 emoji: 🤪; 🧕; 🧕🏾; {ENGLAND}", 34),
        # The links in its cases of what is one: 23 each, and the rest as it stands.
        ("foo.com foo.net foo.org foo.edu foo.gov", 5 * 23 + 4),
        ("MLB.tv vine.co twitch.tv t.co", 4 * 23 + 3),
        ("twitter.jp日本語it.so中国語foo.jp it.so foo.jp", 5 * 23 + 14),
        ("Email me at name.al-lastname@foo.com", 36),
        ("http://t.co/pbY2NfTZ's website", 23 + 10),
        ("https://twitter.vermögensberatung", 23),
        ("http://test.-twitter.com", 24),
        ("http://www.foo.com?referer=https://t.co/abcde", 23),
        ("http://foo.com/more_(than)_one_(parens)).", 23 + 2),
        # Others.
        ("", 0),
        ("café, two\r\nlines\r", 16),
        ("It fell.It rose. See engine.py, node.js", 3 + 23 + 11 + 23 + 9),
        ("my_site.github.io", 3 + 23),
        ("example.com?page=2", 23 + 7),
        ("A © and a ©\ufe0e", 4 + 7 + 3),
        ("cut off: https://t.co/…", 9 + 23 + 2),
        ("see https://example.org/" + "x" * 4000, 4 + 23),
        ("https://example.org/" + "x" * 4090, 20 + 4090),
    ],
)
def test_tweet_length_follows_the_rules_of_x(text: str, length: int) -> None:
    assert tweet_length(text) == length


def test_sentences_are_read_with_their_citations() -> None:
    read = read_sentences(
        "Coffee is dear [1][3]. It fell in 2011.[2]\nWhy? **Bold** [4]",
        dict.fromkeys((1, 2, 3), ""),
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


@pytest.mark.parametrize(
    ("tweets", "kept"),
    [
        (["1/2 Coffee is dear.", "2/2 Tea is not."], ["Coffee is dear.", "Tea is not."]),
        (["(1/3) coffee", "2/3: tea"], ["coffee", "tea"]),  # the third holds the sources
        (["1/ Coffee", "2/ Tea", "3/ Milk"], ["Coffee", "Tea", "Milk"]),
        (["**1/2** coffee", "2/2 tea"], ["** coffee", "tea"]),
        (["9/11 changed us.", "24/7 is long."], ["9/11 changed us.", "24/7 is long."]),
        (["1/3 of the harvest is lost."], ["1/3 of the harvest is lost."]),
        (["2/2 Tea", "1/2 Coffee"], ["2/2 Tea", "1/2 Coffee"]),
        (["1/2021 was cold"], ["1/2021 was cold"]),
    ],
)  # fmt: skip
def test_only_thread_counters_are_removed(tweets: list[str], kept: list[str]) -> None:
    assert without_counters(tweets) == kept


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"It was too cold!" [1].', '"It was too cold!"'),
        ('They said "(too cold)!" [1].', 'They said "(too cold)!"'),
        ("In the U.S. [1].", "In the U.S."),
        ("It rose [1].", "It rose."),
    ],
)
def test_a_sentence_has_one_end(text: str, shown: str) -> None:
    assert [sentence.text for sentence in read_sentences(text, {1: "It rose."})] == [shown]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "“It is a disaster!” Ann wrote [1]. It rose.",
            ["“It is a disaster!” Ann wrote.", "It rose."],
        ),
        ("“Why? Why!” “Never.” Ann asks [1].", ["“Why? Why!” “Never.” Ann asks."]),
        ("“It is a disaster!” [1] It rose.", ["“It is a disaster!”", "It rose."]),
        ("“It is a disaster!”", ["“It is a disaster!”"]),
        ("„Ein Desaster!“ Ann schrieb [1].", ["„Ein Desaster!“ Ann schrieb."]),
    ],
)
def test_a_quotation_belongs_to_what_says_whose_it_is(text: str, sentences: list[str]) -> None:
    assert [read.text for read in read_sentences(text, {1: "It is a disaster!"})] == sentences


@given(st.text(max_size=600))
def test_any_text_becomes_a_tweet_that_fits_and_has_no_links(text: str) -> None:
    kept = fit_sentences(read_sentences(text, {1: "", 2: ""}))
    shown = tweet_text(kept)
    assert tweet_length(shown) <= LONGEST
    assert not re.search(r"://|[@＠]\w", shown)


def test_sources_of_a_library_tell_where_in_it_and_repeat_no_title() -> None:
    page = replace(passage(title="History", url=None, page=15), page_label="5", pages=40)
    section = replace(passage(title="History", url=None), section="The Beginning")
    spread = replace(page, page=16, last_page=17, page_label="6", last_label="7")
    other = replace(passage(title="Ports", url="https://ports.example"), section="Tar")
    assert sources_tweet([(1, page), (2, section), (3, spread), (4, other)]).text == (
        "Sources:\n[1] p. 5 (15 of 40), [2] The Beginning, [3] pp. 6-7 (16-17 of 40): History, 2011"
        "\n[4] Ports, Tar, 2011 https://ports.example"
    )
    undated = replace(page, date=None, page=16, last_page=17, page_label=None)
    assert sources_tweet([(1, undated)]).text == "Sources:\n[1] History, pp. 16-17"
    long = replace(section, title="The history of the harbour " * 4)
    many = [(number, replace(long, section=f"{number} " * 30)) for number in range(1, 8)]
    assert sources_tweet(many).text == (
        "Sources:\n[1][2][3][4][5][6][7] "
        "The history of the harbour The history of the harbour The history of the harbour…, 2011"
    )


@pytest.mark.parametrize(
    ("content", "variants"),
    [
        ('{"language": "en", "variants": [{"tweets": ["A [1]."]}]}', [["A. [1]"]]),
        ('```json\n{"variants": [["A [1]."], ["B [1]."]]}\n```', [["A. [1]"], ["B. [1]"]]),
        ('{"variants": [{"tweets": "A [1]."}]}', [["A. [1]"]]),
        ('{"variants": [{"tweets": ["A [1].", "Sources: [1] x"]}]}', [["A. [1]"]]),
        ('{"language": "en", "variants": [{"tweets": ["A [1]."]}, {"twe', [["A. [1]"]]),
        ('{"variants": [{"tweets": ["1/2 A [1].", 7, "2/2 B [1]."]}]}', [["A. [1]", "B. [1]"]]),
        ('{"variants": [{"tweets": [1, null, {}]}, 7]}', []),
    ],
)
def test_drafts_are_read_tolerantly(content: str, variants: list[list[str]]) -> None:
    from collections import Counter

    read = read_drafts(content, Counter(), given={1: ""}, variants=3)
    assert read is not None
    assert [[tweet_text(tweet) for tweet in draft] for draft in read.variants] == variants
