"""The share picture of an answer's hit."""

from datetime import datetime

from bot.card import Card
from bot.i18n.words import Words
from bot.replies.prophecy import hit_view
from engine.chat import Answer
from engine.types import Hit


def card_of(answer: Answer, words: Words) -> Card:
    """Return what the picture of the first hit of the answer's page says."""
    prophecy = answer.prophecy
    return hit_card(
        answer.page[0],
        prophecy.headline.text,
        prophecy.headline.date,
        answer.asked_at,
        words,
        corpus=prophecy.corpus,
    )


def hit_card(
    hit: Hit, headline: str, date: datetime | None, now: datetime, words: Words, *, corpus: str
) -> Card:
    """Return what the picture of a hit says; its age counts up to `date`, else to `now`.

    Where nobody knows who wrote it, it bears the name of its corpus.
    """
    view = hit_view(hit, date or now, words)
    return Card(
        headline=headline,
        headline_date=words.date(date) if date else "",
        text=view.text,
        author="" if view.author else corpus,
        handle=f"@{view.author}" if view.author else "",
        date_text=view.date_text,
        lead_time_text=view.age,
        marks=view.marks(words),
    )
