"""Which stories a chat wants to hear of at all."""

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum

from engine.feeds.types import Story
from engine.posting.types import Subscription

_NOT_WORD = re.compile(r"[\W_]+")


class Unwanted(StrEnum):
    """Why a subscription lets a story pass by."""

    OLD = "old"  # from before the chat subscribed
    CATEGORY = "category"
    LANGUAGE = "language"
    WORD_MISSING = "word missing"
    WORD_PRESENT = "word present"


def wants(subscription: Subscription, story: Story) -> Unwanted | None:
    """Return why the subscription does not want the story; None when it does.

    Words are compared whole, without case and accents, in the title. A story whose language or
    category nobody said passes no filter that names some.
    """
    said = f" {_plain(story.title)} "

    def occur(words: Iterable[str]) -> bool:
        return any(f" {plain} " in said for word in words if (plain := _plain(word)))

    if subscription.since and story.first_seen_at < subscription.since:
        return Unwanted.OLD
    if subscription.categories and not _common(subscription.categories, story.categories):
        return Unwanted.CATEGORY
    if subscription.languages and not _common(subscription.languages, (story.language or "",)):
        return Unwanted.LANGUAGE
    if subscription.must and not occur(subscription.must):
        return Unwanted.WORD_MISSING
    if occur(subscription.must_not):
        return Unwanted.WORD_PRESENT
    return None


def _plain(text: str) -> str:
    """Return the words of a text as they are compared, single-spaced."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(_NOT_WORD.sub(" ", bare).split())


def _common(wanted: Iterable[str], given: Iterable[str]) -> bool:
    return not {one.casefold() for one in wanted}.isdisjoint(one.casefold() for one in given)
