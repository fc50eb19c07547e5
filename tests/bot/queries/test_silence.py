"""Answers without a model to what nobody foretold: none, whatever the size of the corpus."""

from datetime import UTC, datetime

import pytest

from bot.app import open_app
from bot.settings import load_settings
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest
from engine.values import Kind
from tests.bot.kinds import fill, text_of

NOW = datetime.now(UTC)
_WHO = ("My neighbour", "The baker", "Our choir", "A gardener", "The librarian", "Grandmother")
_DOES = ("repaints", "waters", "polishes", "sells", "draws", "repairs", "counts", "forgets")
_WHAT = (
    "milk jugs",
    "toy bridges",
    "budget tulips",
    "volcano cakes",
    "pancakes",
    "kites",
    "cups",
    "bank notes",
)
_WHEN = ("before breakfast", "after the rain", "with great care", "as if nothing mattered")
HEADLINES = (
    "Volcano Erupts in Iceland Again, Forcing Evacuation of Fishing Town",
    "Parliament Rejects Budget as Coalition Partners Walk Out",
    "Freeze-Dry Your Breast Milk, Says New Start-Up",
    "Motorway Bridge Collapses, Killing Dozens",
    "Central Bank Raises Interest Rates for Third Time This Year",
    "Goalkeeper Sold for Record Fee After World Cup Final",
)
SMALL_TALK = (
    "good morning everybody, how are you today?",
    "lol that is so true",
    "thanks a lot, see you tomorrow",
    "happy birthday my friend!",
    "ok, I am on my way now",
    "did you see that yesterday?",
    "what a beautiful day it is",
    "no idea, ask him again later",
    "buenas noches a todos, hasta mañana",
    "jajaja muy bueno",
)


def unrelated(number: int) -> list[str]:
    """Return so many texts that have nothing to do with any headline, each another one."""
    return [
        f"{_WHO[n % 6]} {_DOES[n // 6 % 8]} {n} {_WHAT[n // 48 % 8]} {_WHEN[n // 384 % 4]}"
        for n in range(number)
    ]


@pytest.mark.parametrize(
    "size", [5, 50, 500, pytest.param(8_000, marks=pytest.mark.slow)], ids="{} texts".format
)
async def test_a_corpus_of_other_things_stays_silent(database_url: str, size: int) -> None:
    environ = {"DATABASE_URL": database_url}
    texts = [text_of(f"t{n}", text, days_ago=400) for n, text in enumerate(unrelated(size))]
    async with open_app(load_settings(environ=environ), progress=print, migrate=True) as app:
        await fill(app.database, "said", Kind.TWEETS, texts)
        for line in (*HEADLINES, *SMALL_TALK):
            request = SearchRequest(headline=read_headline(line), limit=3, now=NOW, judged=False)
            found = await app.prophesy(request, corpus="said")
            assert not found.hits, line
