"""Near-identical texts collapse to the one that stands for them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz, process

from engine.ranking import (
    choose_eldest,
    first_of_items,
    fuse_rankings,
    group_alike,
    list_ranks,
    strip_dress,
)
from engine.search import Candidate, ItemPlace
from engine.values import Flag
from tests.engine.candidates import candidate

TEXT = "Windmills are the greatest threat in the US to both bald and golden eagles."
OTHER = "The coffee at this hotel is a disgrace, and everybody here knows it."


def posted(identity: int, text: str, *, year: int = 2015, flags: Flag = Flag.NONE) -> Candidate:
    made = candidate(identity, text, created_at=datetime(year, 1, 1, tzinfo=UTC))
    return replace(made, flags=flags)


def distinct(candidates: Sequence[Candidate], *, similarity: float = 90) -> list[Candidate]:
    """Return what stands for each group, as finds and prophecies put it together."""
    return [choose_eldest(group) for group in group_alike(candidates, similarity=similarity)]


def ids(candidates: Sequence[Candidate]) -> list[int]:
    return [found.id for found in distinct(candidates)]


def test_the_older_of_near_duplicates_is_kept() -> None:
    newer, older = posted(1, TEXT, year=2015), posted(2, TEXT + " Sad!", year=2012)
    assert ids([newer, older]) == ids([older, newer]) == [2]


@pytest.mark.parametrize(
    "same",
    [
        TEXT.upper(),
        TEXT + " https://t.co/abc",
        f"RT @somebody: {TEXT}",
        f'"{TEXT}"',
        TEXT.replace("greatest", "greatets"),
        TEXT + " #eagles",
    ],
)
def test_texts_differing_only_in_formatting_are_duplicates(same: str) -> None:
    assert ids([posted(1, TEXT), posted(2, same)]) == [1]


@pytest.mark.parametrize(
    "other",
    [
        OTHER,
        TEXT + " And they never work when you need them, believe me, ask anybody in Scotland.",
        "Bald and golden eagles both are a greatest threat in the US to windmills.",
        "",
    ],
)
def test_different_texts_are_not_merged(other: str) -> None:
    assert ids([posted(1, TEXT), posted(2, other)]) == [1, 2]


def test_a_repost_is_kept_only_without_the_own_text() -> None:
    repost = posted(1, f"RT @fan: {TEXT}", year=2012, flags=Flag.REPOST)
    own, later = posted(2, TEXT, year=2014), posted(3, f"RT @fan: {TEXT}", year=2016)
    assert ids([repost, own, later]) == [2]
    assert ids([replace(later, flags=Flag.REPOST), repost]) == [1]


def test_texts_without_words_are_compared_verbatim() -> None:
    """They are found by the message that they answer."""
    found = [posted(1, "🔥🔥🔥"), posted(2, "😀"), posted(3, "🔥🔥🔥"), posted(4, "https://t.co/a")]
    assert ids(found) == [1, 2, 4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RT @a_b: So: it's TRUE! https://t.co/x", "so it s true"),
        ("“RT @ana ¡Qué día!”", "qué día"),
        ("part @work: no repost", "part work no repost"),
        ("😀", ""),
    ],
)
def test_bare_reduces_a_text_to_its_words(text: str, words: str) -> None:
    assert strip_dress(text) == words


# No two of these are near each other.
_texts = st.sampled_from([TEXT, OTHER, "short", "Мир, труд, май", "12345 67890 12345", "x" * 100])
_found = st.lists(
    st.tuples(_texts, st.integers(2009, 2020), st.sampled_from([Flag.NONE, Flag.REPOST])),
    max_size=25,
).map(lambda rows: [posted(i, t, year=y, flags=f) for i, (t, y, f) in enumerate(rows)])


@given(_found)
def test_the_oldest_own_text_of_each_group_is_kept_once(found: list[Candidate]) -> None:
    left = distinct(found)
    assert [c.text for c in left] == list(dict.fromkeys(c.text for c in found))
    for one in left:
        same = [c for c in found if c.text == one.text]
        own = [c for c in same if not c.flags & Flag.REPOST] or same
        assert one.created_at == min(c.created_at for c in own if c.created_at)
        assert one in own
    assert distinct(left) == left


@pytest.mark.parametrize(("shared", "left"), [(4_400, 2), (4_600, 1), (5_000, 1)])
def test_long_texts_are_compared_by_their_first_5000_characters(shared: int, left: int) -> None:
    """They say nine tenths of those alike, or not; what follows does not count."""
    start, rest = "ab" * (shared // 2), 20_000 - shared
    one, other = posted(1, start + "cd" * (rest // 2)), posted(2, start + "ef" * (rest // 2))
    assert len(distinct([one, other])) == left


_long = st.lists(
    st.sampled_from([*" abcdefgé", "the ", "tion", "xyzzy "]), min_size=380, max_size=420
).map("".join)


@given(_long, st.integers(0, 60), st.integers(0, 400), st.sampled_from([60.0, 85.0, 90.0, 100.0]))
def test_long_texts_are_duplicates_exactly_by_their_similarity_ratio(
    text: str, changed: int, place: int, similarity: float
) -> None:
    other = text[:place] + "q" * changed + text[place + changed // 2 :]
    found = distinct([posted(1, text), posted(2, other)], similarity=similarity)
    same = fuzz.ratio(strip_dress(text), strip_dress(other)) >= similarity
    assert len(found) == (1 if same else 2)


def _strewn(text: str, every: float) -> str:
    """A text with a letter of no other kind after each `every` of its own."""
    marks = {round(every * number) for number in range(1, int(len(text) / every) + 1)}
    return "".join(letter + ("z" if at in marks else "") for at, letter in enumerate(text))


@pytest.mark.parametrize(
    ("length", "every", "similarity", "same"),
    [
        (500, 4.5, 90, True),
        (500, 4.4, 90, False),
        (390, 10.0, 90, True),  # the shorter one is too short for its pairs to be counted
    ],
)
def test_letters_strewn_over_a_long_text_change_the_most_pairs(
    length: int, every: float, similarity: float, same: bool
) -> None:
    """Each letter more removes one pair and adds two, which is the most that it can."""
    text = "".join(random.Random(3).choices("abcdefghij", k=length))
    longer = _strewn(text, every)
    assert (fuzz.ratio(text, longer) >= similarity) is same
    for found in ([posted(1, text), posted(2, longer)], [posted(2, longer), posted(1, text)]):
        assert len(distinct(found, similarity=similarity)) == (1 if same else 2)


def test_long_texts_on_other_things_are_not_compared_letter_by_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []

    def extract(key: str, choices: Sequence[str] | Mapping[int, str], **options: Any) -> None:
        compared.append(len(choices))

    monkeypatch.setattr(process, "extractOne", extract)
    texts = ["".join(random.Random(1).choices(own, k=600)) for own in ("abcd", "efgh", "ijkl")]
    assert len(distinct([posted(number, text) for number, text in enumerate(texts)])) == 3
    assert compared == [0, 0, 0]
    compared.clear()
    distinct([posted(1, texts[0]), posted(2, TEXT), posted(3, OTHER)])
    assert compared == [0, 1, 2], "a short one is compared with all"
    compared.clear()
    text = "".join(random.Random(3).choices("abcdefghij", k=600))
    distinct([posted(1, text), posted(2, _strewn(text, 4.2))])
    assert compared == [0, 0], "426 pairs differ, of 403 that may"


def _part(identity: int, item: int, text: str = TEXT) -> Candidate:
    return replace(posted(identity, text), place=ItemPlace(item=item, title="A book"))


def test_parts_of_one_item_are_never_alike() -> None:
    assert ids([_part(2, 1), _part(1, 1)]) == [2, 1]
    assert ids([_part(2, 1), _part(1, 2), posted(3, OTHER)]) == [1, 3]


def test_only_the_first_part_of_each_item_is_kept() -> None:
    found = [_part(2, 1), posted(3, OTHER), _part(1, 1), _part(4, 2)]
    kept = first_of_items(found, lambda one: one.place)
    assert [one.id for one in kept] == [2, 3, 4]


RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=20), max_size=3)


@given(RANKINGS)
def test_fusion_loses_and_repeats_no_item(rankings: list[list[int]]) -> None:
    order = fuse_rankings(rankings)
    assert len(order) == len(set(order))
    assert set(order) == {item for ranking in rankings for item in ranking}


@given(RANKINGS, st.integers(0, 30), st.integers(0, 30))
def test_an_item_ahead_everywhere_stays_ahead(
    rankings: list[list[int]], one: int, other: int
) -> None:
    order = fuse_rankings(rankings)
    if one == other or not {one, other} <= set(order):
        return
    higher = [
        one in ranking and (other not in ranking or ranking.index(one) < ranking.index(other))
        for ranking in rankings
        if {one, other} & set(ranking)
    ]
    if all(higher):
        assert order.index(one) < order.index(other)


def test_ranks_are_the_best_in_the_lists_of_each_name() -> None:
    lists = [("a phrase", ["a", "b"]), ("another", ["b"]), ("a phrase", ["b", "a"])]
    assert list_ranks(lists) == {"a": {"a phrase": 1}, "b": {"a phrase": 1, "another": 1}}


def test_the_fusion_constant_matches_the_paper() -> None:
    """Which of two items leads depends on the constant: these two pairs turn around it.

    (1, 13) gives 1/61 + 1/73 = 0.030092, (5, 8) gives 1/65 + 1/68 = 0.030090: less, up to 60.
    (2, 14) gives 1/62 + 1/74 = 0.029642, (6, 9) gives 1/66 + 1/69 = 0.029644: more, from 60 on.
    """
    one, other = [f"a{n}" for n in range(1, 15)], [f"b{n}" for n in range(1, 15)]
    places = {"first": (1, 13), "second": (5, 8), "third": (6, 9), "fourth": (2, 14)}
    for item, (here, there) in places.items():
        one[here - 1] = other[there - 1] = item
    assert fuse_rankings([one, other])[:4] == list(places)
