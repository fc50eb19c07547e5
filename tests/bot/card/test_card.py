"""The picture itself: its size, its pixels, equal bytes each time; a process that may die."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from time import process_time

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.cards import PLAIN, SAMPLES
from bot.card import Card, Shape, draw_apart, draw_card
from engine.errors import NotDrawn
from engine.process_pool import Limits, ProcessPool
from tests.png import make_png, read_pixels, read_size

PAPER = (244, 239, 230)
MARGIN = 30  # pixels, in which nothing is ever drawn
HOSTILE = [
    "\x00" * 100, "\u202eevil", "a" * 100_000, "\U0001f469\u200d" * 5000,
    "Z" + "\u0335\u0310" * 3000, "<svg onload=alert(1)>&amp;", "\ud800", "\n" * 5000,
    "日本語" * 300, "\ufdfd" * 500, "e\u0301" * 2000, "12-" * 900, "\U0001f1ea" * 999,
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _forked_workers() -> None:
    """Start isolated processes as the program does."""


def draw(card: Card) -> NDArray[np.int16]:
    return read_pixels(draw_card(card))


def count_near(pixels: NDArray[np.int16], colour: tuple[int, int, int]) -> int:
    return int((np.abs(pixels - np.array(colour)).max(axis=2) < 10).sum())


@pytest.mark.parametrize("shape", Shape)
def test_a_png_of_the_size_of_its_shape_with_paper_around_the_card(shape: Shape) -> None:
    pixels = draw(replace(SAMPLES["marks"], shape=shape))
    assert pixels.shape[1::-1] == shape.size == {"link": (1200, 630), "chat": (1080, 1350)}[shape]
    pixels[MARGIN:-MARGIN, MARGIN:-MARGIN] = PAPER
    assert count_near(pixels, PAPER) == shape.size[0] * shape.size[1]


def test_every_field_changes_the_picture() -> None:
    whole = draw_card(PLAIN)
    for field in fields(Card):
        if field.name not in {"avatar", "shape", "cut_text", "missing_text"}:
            nothing: object = () if field.name == "marks" else ""
            assert draw_card(replace(PLAIN, **{field.name: nothing})) != whole, field.name  # type: ignore[arg-type]  # of its type


def test_emoji_are_in_colour() -> None:
    yellow = (255, 204, 77)
    assert count_near(draw(replace(PLAIN, text="😂😂😂")), yellow) > 2000
    assert count_near(draw(replace(PLAIN, text="joy")), yellow) == 0


def test_an_avatar_fills_a_circle_and_a_broken_one_leaves_it_empty() -> None:
    green = make_png(300, 200, (10, 200, 30))
    drawn = count_near(draw(replace(PLAIN, avatar=green)), (10, 200, 30))
    assert 0.9 < drawn / (np.pi * 30**2) < 1.02
    empty = draw_card(replace(PLAIN, avatar=b"\x89PNG\r\n\x1a\n"))
    assert draw_card(replace(PLAIN, avatar=green[:60])) == empty
    assert draw_card(replace(PLAIN, avatar=b"GIF89a")) == draw_card(PLAIN) != empty


def test_equal_cards_give_equal_bytes_in_any_thread() -> None:
    cards = [PLAIN, SAMPLES["emoji"], SAMPLES["hebrew"]]
    alone = [draw_card(card) for card in cards]
    assert len(set(alone)) == 3
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw_card, cards * 2)) == alone * 2


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_every_field_is_drawn_in_time(hostile: str) -> None:
    words = {field.name: hostile for field in fields(Card) if field.type is str}
    began = process_time()
    drawn = draw_card(Card(**words, marks=(hostile,) * 50))  # type: ignore[arg-type]  # texts alone
    assert read_size(drawn) == Shape.LINK.size
    assert process_time() - began < 5


def test_a_hundred_thousand_characters_cost_little_more_than_a_page() -> None:
    page = "prophecy after prophecy " * 60
    small = Card(headline=page, text=page, author=page, footer=page)
    huge = Card(headline=page * 80, text=page * 80, author=page * 80, footer=page * 80)

    def cost(card: Card) -> float:
        def once() -> float:
            began = process_time()
            draw_card(card)
            return process_time() - began

        return min(once() for _ in range(3))

    draw_card(small)
    assert cost(huge) < 3 * cost(small)


async def test_another_process_draws_the_same_picture() -> None:
    hostile = replace(PLAIN, headline="\ud800\u202e", marks=("a", "b"), avatar=b"\x89PNG\0")
    async with ProcessPool() as isolation:
        for card in (PLAIN, hostile):
            assert await draw_apart(isolation, card) == draw_card(card)


def die(card: Card) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return card.avatar


def spin(card: Card) -> bytes:
    while True:
        card = replace(card)


def grow(card: Card) -> bytes:
    return card.avatar + bytes(4_000_000_000)


@pytest.mark.parametrize(
    ("draws", "reason"), [(die, "crashed"), (spin, "over its time"), (grow, "over its memory")]
)
async def test_a_crash_a_hang_and_greed_raise_not_drawn(
    monkeypatch: pytest.MonkeyPatch, draws: object, reason: str
) -> None:
    monkeypatch.setattr("bot.card.draw_card", draws)
    async with ProcessPool(Limits(seconds=0.5, patience=20, memory=1_500_000_000)) as isolation:
        with pytest.raises(NotDrawn, match=reason):
            await draw_apart(isolation, PLAIN)


async def test_a_process_that_cannot_start_raises_not_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    async with ProcessPool() as isolation:
        with pytest.raises(NotDrawn, match="cannot be started"):
            await draw_apart(isolation, PLAIN)


def test_an_error_of_the_template_raises_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.card.typesetting.describe_card", lambda *_: "{}")
    with pytest.raises(NotDrawn, match="cannot be drawn"):
        draw_card(PLAIN)
