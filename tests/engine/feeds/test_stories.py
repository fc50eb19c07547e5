"""When two headlines are one story, and the story that each headline joins."""

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.feeds.feed import NewHeadline
from engine.feeds.stories import (
    StoryWords,
    is_near_duplicate,
    join_stories,
    repeats_headline,
    select_index_words,
    words_of,
)
from engine.prophecy.headline import read_headline
from engine.text.address import link_key


def same(one: str, other: str) -> bool:
    return is_near_duplicate(words_of(one), words_of(other))


@pytest.mark.parametrize(
    "other",
    [
        "http://e.org/news/port-closed",
        "https://E.org:443/news/port-closed",
        "https://e.org/news/port-closed#comments",
        "https://e.org/news/port-closed?utm_source=rss&utm_medium=feed",
        "https://e.org/news/port-closed?at_medium=RSS&at_campaign=KARANGA",
        "https://e.org/news/port-closed;jsessionid=1A2B?cmpid=rss",
    ],
)
def test_urls_of_the_same_page_share_a_key(other: str) -> None:
    assert link_key(other) == "e.org/news/port-closed"


@pytest.mark.parametrize(
    "url",
    ["https://e.org", "https://e.org/?utm_source=rss", "https://[e.org/a", "https://e.org:x/"],
)
def test_home_pages_and_broken_links_have_no_key(url: str) -> None:
    assert link_key(url) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Writer Ana Duarte dies at 88", "Writer Ana Duarte dies at 88"),
        (
            "The great writer Ana Duarte of Braga dies at 88",
            "Writer Ana Duarte of Braga dies at 88",
        ),
        (
            "Muere la escritora Ana Duarte a los 88 años",
            "Muere la gran escritora Ana Duarte a los 88 años",
        ),
        (
            "Central bank asks for time to lower interest rates after strong inflation figures",
            "Central bank asks for time to cut interest rates after strong inflation figures",
        ),
        (
            "Court blocks the president's plan for a canal tax",
            "Court Blocks President’s Plan for Canal Tax",
        ),
    ],
)
def test_two_headlines_of_one_story_match(one: str, other: str) -> None:
    assert same(one, other) and same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Storm in Lima leaves 5 dead and the port closed",
            "Storm in Lima leaves 7 dead and the port closed",
        ),
        (
            "The 10 most popular films on television right now (Jan. 11)",
            "The 10 most popular shows on television right now (Jan. 11)",
        ),
        (
            "Resultado del sorteo de la Bonoloto de hoy jueves, 27 de junio de 2024",
            "Resultado del sorteo de la Primitiva de hoy jueves, 27 de junio de 2024",
        ),
        (
            "Earthquake of magnitude 6.1 shakes the coast of northern Chile near the port Iquique",
            "Earthquake of magnitude 5.2 shakes the coast of northern Chile near the port Iquique",
        ),
        (
            "Storm leaves 12 dead in the old harbour town of Lima and closes the road",
            "Storm leaves dead in the old harbour town of Lima and closes the road",
        ),
        ("Mayor opens bridge", "Mayor closes bridge"),
        ("Brazil beats Chile in the final", "Chile beats Peru in the final"),
        ("Editorial", "Editorial"),
        ("— …", "— …"),
    ],
)
def test_similar_headlines_of_two_stories_do_not_match(one: str, other: str) -> None:
    assert not same(one, other) and not same(other, one)


def pairs_of_a_day(file: Path) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    days: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for line in file.read_text().splitlines():
        record = json.loads(line)
        days[record["date"][:10]].append(words_of(read_headline(record["title"]).text))
    return [pair for words in days.values() for pair in combinations(words, 2)]


def test_different_headlines_of_one_publisher_on_one_day_do_not_match(shared_data: Path) -> None:
    pairs = pairs_of_a_day(shared_data / "headlines" / "en.jsonl")
    joined = [pair for pair in pairs if is_near_duplicate(*pair)]
    assert len(pairs) > 50_000
    assert [pair for pair in joined if pair[0] != pair[1]] == []
    assert len(joined) == 2  # printed twice


@pytest.mark.slow
def test_the_same_news_of_many_publishers_matches(shared_data: Path) -> None:
    pairs = pairs_of_a_day(shared_data / "headlines" / "es.jsonl")
    joined = {
        tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1] and is_near_duplicate(*pair)
    }
    assert len(joined) == 21  # each was read: all tell the same news


words = st.lists(st.sampled_from([*"abcdefghij", "1", "22", "lighthouse"]), unique=True).map(
    lambda chosen: tuple(sorted(chosen))
)


@given(one=words, other=words)
def test_an_index_of_words_misses_no_story(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    if is_near_duplicate(one, other):
        assert set(select_index_words(one)) & set(other)
        assert is_near_duplicate(other, one)


@given(words=words, extra=st.sampled_from(["zebra", "zoo"]))
def test_a_headline_with_one_word_more_is_one_story(words: tuple[str, ...], extra: str) -> None:
    if len(words) >= 4 and sum(map(len, words)) >= 12:
        assert is_near_duplicate(words, words)
        assert is_near_duplicate(words, (*words, extra))
        assert set(select_index_words((*words, extra))) & set(words)


@given(st.text())
def test_any_text_yields_words_and_any_link_a_key_or_none(text: str) -> None:
    found = words_of(text)
    assert list(found) == sorted(set(found))
    link_key(f"https://{text}")
    key = link_key(f"https://e.org/{text}")
    assert key is None or key.startswith("e.org")


NOW = datetime(2026, 11, 22, tzinfo=UTC)
STORM = "Great storm floods the old harbour of Lisbon"
STORM_AGAIN = "Great storm floods old harbour of Lisbon city"
VOTE = "Parliament votes down the budget of the new minister"


def headline(text: str, *, link: str | None = None, hours: float = 0) -> NewHeadline:
    return NewHeadline(
        identity=text,
        title=text,
        text=text,
        published=NOW + timedelta(hours=hours),
        link=link,
        link_key=link_key(link) if link else None,
    )


def known(number: int, text: str, *, link: str | None = None) -> StoryWords:
    return StoryWords(
        id=number, link_key=link_key(link) if link else None, words=words_of(text), published=NOW
    )


def ids(*headlines: NewHeadline, stories: tuple[StoryWords, ...] = ()) -> list[int]:
    return [story.id for story in join_stories(headlines, stories)]


@pytest.mark.parametrize(
    ("text", "hours", "story"),
    [(STORM_AGAIN, hours, 5 if abs(hours) <= 48 else -1) for hours in (0, 48, -48, 49, -49)]
    + [(STORM.upper(), 7 * 24, 5), (STORM.upper(), 7 * 24 + 1, -1), (VOTE, 0, -1)],
)
def test_the_same_words_are_one_story_for_two_days_and_the_same_headline_for_a_week(
    text: str, hours: float, story: int
) -> None:
    assert ids(headline(text, hours=hours), stories=(known(5, STORM),)) == [story]


def test_a_headline_of_one_word_put_up_again_is_another_story() -> None:
    assert ids(headline("Editorial", hours=72), stories=(known(5, "Editorial"),)) == [-1]


def test_headlines_with_the_same_link_are_always_one_story() -> None:
    stories = (known(5, VOTE, link="https://a.test/1"), known(6, STORM))
    assert ids(
        headline(STORM, link="https://a.test/1?utm_source=x", hours=90), stories=stories
    ) == [5]
    assert ids(headline(STORM, link="https://a.test/2"), stories=stories) == [6]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Coffee Prices Hit A Record High!", True),
        ("lol “Coffee prices hit a record high”, told you", True),
        ("Coffee prices hit record high", True),
        ("Coffee prices fall from their record high", False),
        ("Tea prices hit a record high", False),
    ],
)
def test_a_headline_is_recognised_with_more_words_around_it(text: str, expected: bool) -> None:
    assert repeats_headline(text, "Coffee prices hit a record high") is expected
