"""The share picture of an answer's hit."""

from datetime import datetime

from bot.card import Card
from bot.i18n.words import Words
from bot.replies.prophecy import hit_view
from engine.chat import Answer
from engine.types import Hit


def card_of(answer: Answer, words: Words, *, avatar: bytes | None = None) -> Card:
    """Return the card for the first hit of the answer's page; `avatar` is its corpus's picture."""
    prophecy = answer.prophecy
    return hit_card(
        answer.page[0],
        prophecy.headline.text,
        prophecy.headline.date,
        answer.asked_at,
        words,
        corpus=prophecy.corpus,
        avatar=avatar,
    )


def hit_card(
    hit: Hit,
    headline: str,
    date: datetime | None,
    now: datetime,
    words: Words,
    *,
    corpus: str,
    avatar: bytes | None = None,
) -> Card:
    """Return the card for a hit; its age is relative to `date`, else to `now`.

    The card names the voice, and the corpus if neither voice nor author is known.
    """
    view = hit_view(hit, date or now, words)
    return Card(
        headline=headline,
        headline_date=words.date(date) if date else "",
        text=view.text,
        author=view.voice or ("" if view.author else corpus),
        handle=f"@{view.author}" if view.author else "",
        date_text=view.date_text,
        lead_time_text=view.age,
        marks=view.marks(words),
        avatar=(avatar or b"") if view.voice else b"",  # others that the account quotes have none
    )
