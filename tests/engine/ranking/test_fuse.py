"""Rankings joined into one."""

from hypothesis import given
from hypothesis import strategies as st

from engine.ranking import fuse_rankings, list_ranks

RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=20), max_size=3)


def test_items_in_two_lists_rank_before_items_in_one() -> None:
    assert fuse_rankings([["a", "b", "c"], ["d", "b", "e"]])[0] == "b"


def test_one_list_keeps_its_order() -> None:
    assert fuse_rankings([["c", "a", "b"], []]) == ["c", "a", "b"]


def test_ties_go_to_the_earlier_list() -> None:
    assert fuse_rankings([["a", "b"], ["c", "d"]]) == ["a", "c", "b", "d"]


@given(RANKINGS)
def test_fusion_loses_and_repeats_no_item(rankings: list[list[int]]) -> None:
    order = fuse_rankings(rankings)
    assert len(order) == len(set(order))
    assert set(order) == {item for ranking in rankings for item in ranking}


@given(RANKINGS, st.integers(0, 30), st.integers(0, 30))
def test_an_item_ahead_in_every_list_stays_ahead(
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


def test_ranks_say_which_list_holds_what_and_where() -> None:
    assert list_ranks({"lexical": ["a", "b"], "semantic": ["b"]}) == {
        "a": {"lexical": 1},
        "b": {"lexical": 2, "semantic": 1},
    }


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
