"""The page on scale shows what is computed, and the computation agrees with what was measured."""

from pathlib import Path

import pytest

from bench import scale
from bench.scale import Figures

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
FIGURES = Figures()


def test_measured_figures_stand_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (small, fast), (_, slow) = FIGURES.small, FIGURES.large
    for figure in (FIGURES.tweet, FIGURES.chat, FIGURES.ingested, small, fast, slow):
        assert f"{figure:,.0f}" in page
    for tokens in (FIGURES.asked_english, FIGURES.asked_spanish, FIGURES.answered):
        assert f"{tokens:,} " in page


def test_queries_pass_through_both_measured_sizes() -> None:
    for documents, queries in (FIGURES.small, FIGURES.large):
        assert scale.queries_a_core(FIGURES, documents) * FIGURES.cores == pytest.approx(queries)
    assert scale.queries_a_core(FIGURES, 10**9) < scale.queries_a_core(FIGURES, 10**8)


@pytest.mark.parametrize(
    ("chats", "seconds", "bots"),
    [(30, 1, 1), (31, 1, 2), (108_000, 3600, 1), (1_000_000, 3600, 10), (1_000_000, 86_400, 1)],
)
def test_the_number_of_bots_follows_from_the_message_limit(
    chats: int, seconds: int, bots: int
) -> None:
    assert scale.bots(FIGURES, chats, seconds) == bots


def test_prices_can_be_given_as_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    scale.main(["--asked", "1", "--answered", "0"])
    asked, answered = f"{FIGURES.asked_english:,}", f"{FIGURES.answered:,}"
    assert f"| English | {asked} | {answered} | ${asked} |" in capsys.readouterr().out
