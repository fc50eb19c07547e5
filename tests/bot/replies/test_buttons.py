"""Where a text stands in its item, in words; and the votes of a short message in one row."""

import pytest

from bot.i18n.words import words_for
from bot.replies.buttons import vote_row
from bot.replies.find import place_text
from engine.chat import Answer, Tally
from engine.search import ItemPlace
from tests.bot.prophecies import NOW, make_hit, make_prophecy


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"page": 5}, "Ports, p. 5"),
        ({"page": 5, "last_page": 5, "page_label": "5"}, "Ports, p. 5"),
        ({"page": 5, "last_page": 6}, "Ports, pp. 5-6"),
        ({"page": 15, "page_label": "5", "pages": 40}, "Ports, p. 5 (15 of 40)"),
        ({"heading": "Results > Prices"}, "Ports, Prices"),
        ({"heading": "Ports"}, "Ports"),
        ({}, "Ports"),
    ],
)
def test_a_place_names_page_or_heading(place: dict[str, object], text: str) -> None:
    placed = ItemPlace(item=1, title="Ports", **place)  # type: ignore[arg-type]  # as the table says
    assert place_text(placed, words_for("en")) == text


@pytest.mark.parametrize(
    ("hits", "platform", "labels"),
    [
        (1, "slack", ["👍 7", "👎"]),
        (2, "slack", ["👍 7", "👎", "2: 👍 👎"]),
        (3, "slack", ["👍 7", "👎", "2 … 3: 👍 👎"]),
        (4, "test", ["👍 7", "👎", "2 👍 7", "2 👎", "3 👍 7", "3 👎"]),
    ],
)
def test_votes_of_a_short_message_are_one_row(hits: int, platform: str, labels: list[str]) -> None:
    answer = Answer(prophecy=make_prophecy(make_hit()), asked_at=NOW, first=0, last=1, id=1)
    votable = [(rank, answer, rank, Tally(up=7)) for rank in range(1, hits + 1)]
    row = vote_row(votable, "en", platform=platform)
    assert [button.label for button in row] == labels
