"""Chooses the finds that are posted in a chat, without repeating a story or a text."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from rapidfuzz import fuzz, process

from engine.feeds.feed import Story
from engine.posting.delivery import Chosen, Posted, StoryFind, Subscription
from engine.ranking import bare
from engine.search import HIGHEST_JUDGMENT, Hit, Prophecy

PROMISING = 0.33  # an unjudged story below this promise (0..1) is not kept
HITS = 12  # of an unjudged prophecy, from which the promise is computed
_WORDS = 3
_FEW_WORDS = 0.5


def promise(prophecy: Prophecy) -> float:
    """Return the highest share of the headline's idf (0..1) that one hit covers.

    A hit counts half unless it shares three words with the headline, or all words of a shorter one.
    The prophecy need not be judged. Its first `HITS` hits count, and the semantically near hits
    after them: a model may see more in a long text than its words show.
    """
    asked = {term.shown: term.neighbour_of or term.word for term in prophecy.terms}
    needed = min(_WORDS, len(set(asked.values())))

    def estimate_promise(hit: Hit) -> float:
        in_common = {asked.get(word, word) for word in hit.matched}
        covered = hit.parts.get("lexical") or 0.0
        return covered if len(in_common) >= needed else covered * _FEW_WORDS

    first = (*prophecy.hits, *prophecy.near)[:HITS]
    return max(map(estimate_promise, first), default=0.0)


_NOT_WORD = re.compile(r"[\W_]+")


class Unwanted(StrEnum):
    """Why a subscription does not want a story."""

    OLD = "old"  # from before the chat subscribed
    CATEGORY = "category"
    FEED = "feed"
    LANGUAGE = "language"
    WORD_MISSING = "word missing"
    WORD_PRESENT = "word present"


def wants(subscription: Subscription, story: Story) -> Unwanted | None:
    """Return why the subscription does not want the story, or None if it does.

    Whole words of the title are compared, ignoring case and accents. A story without a language or
    category does not pass a filter on it.
    """

    def occur(words: Iterable[str]) -> bool:
        said = f" {_plain(story.title)} "
        return any(f" {plain} " in said for word in words if (plain := _plain(word)))

    if subscription.since and story.first_seen_at < subscription.since:
        return Unwanted.OLD
    if unwanted := _not_from(subscription, story):
        return unwanted
    if subscription.must and not occur(subscription.must):
        return Unwanted.WORD_MISSING
    if subscription.must_not and occur(subscription.must_not):
        return Unwanted.WORD_PRESENT
    return None


def _not_from(subscription: Subscription, story: Story) -> Unwanted | None:
    """Return why the subscription does not want news from where the story comes from."""
    if subscription.categories and not _common(subscription.categories, story.categories):
        return Unwanted.CATEGORY
    if subscription.feeds and not _is_named(subscription.feeds, story.source or ""):
        return Unwanted.FEED
    if subscription.languages and not _common(subscription.languages, (story.language or "",)):
        return Unwanted.LANGUAGE
    return None


def _is_named(wanted: Iterable[str], feed: str) -> bool:
    """Tell whether one of the wanted words occurs in the name of a feed."""
    named = f" {_plain(feed)} "
    return any(f" {plain} " in named for one in wanted if (plain := _plain(one)))


def _plain(text: str) -> str:
    """Return the words of a text in the form that is compared, single-spaced."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(_NOT_WORD.sub(" ", bare).split())


def _common(wanted: Iterable[str], given: Iterable[str]) -> bool:
    return not {one.casefold() for one in wanted}.isdisjoint(one.casefold() for one in given)


AGAIN_AFTER = timedelta(days=180)  # the same text is not posted again in a chat within this time
SAME_TEXT = 90.0  # rapidfuzz's ratio (0..100) from which two texts count as the same
_COMPARED = 5_000  # characters


class Rejected(StrEnum):
    """Why a find that matches the subscription is not posted."""

    NOTHING_FOUND = "nothing found"
    BELOW_THRESHOLD = "below threshold"
    NOT_JUDGED = "not judged"
    TOO_LITTLE_IN_COMMON = "too little in common"
    STORY_POSTED = "story posted"
    TEXT_POSTED = "text posted"
    BEYOND_BEST = "beyond best"


Reason: TypeAlias = Unwanted | Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A find that is not posted, and the reason."""

    find: StoryFind
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The outcome for all finds: those that are posted, best first, and the others."""

    chosen: tuple[Chosen, ...]
    left_out: tuple[LeftOut, ...]


def choose(
    subscription: Subscription,
    finds: Iterable[StoryFind],
    already_posted: Sequence[Posted],
    now: datetime,
    *,
    again_after: timedelta = AGAIN_AFTER,
) -> Choice:
    """Return those of `finds` that the chat is told at `now`, at most `subscription.best`.

    Judged finds come before unjudged ones, then the better score, then the older story.
    `already_posted` is what the chat was told before; if it was told the best hit of a find
    recently, the next good hit is posted instead.
    """
    memory = _Memory(already_posted, now - again_after)
    chosen: list[Chosen] = []
    left_out: list[LeftOut] = []
    for find in sorted(finds, key=_merit):
        found = _candidate(subscription, find, memory)
        if isinstance(found, Chosen) and len(chosen) >= subscription.best:
            found = Rejected.BEYOND_BEST
        if isinstance(found, Chosen):
            chosen.append(found)
            memory.add(found)
        else:
            left_out.append(LeftOut(find=find, reason=found))
    return Choice(chosen=tuple(chosen), left_out=tuple(left_out))


def judgment_of(hit: Hit) -> int | None:
    """Return the model's judgment of a hit, 0..6, or None if the model was not asked."""
    part = hit.parts.get("judgment")
    return None if part is None else round(part * HIGHEST_JUDGMENT)


class _Memory:
    """What the chat has been told."""

    def __init__(self, posted: Sequence[Posted], since: datetime) -> None:
        recent = [one for one in posted if one.posted_at > since]
        self._stories = {one.story_id for one in posted}
        self._ids = {(one.corpus, one.external_id) for one in recent}
        self._texts = [_words(one.text) for one in recent]

    def knows_story(self, find: StoryFind) -> bool:
        return find.story.id in self._stories

    def knows_text(self, find: StoryFind, hit: Hit) -> bool:
        if (find.corpus, hit.candidate.external_id) in self._ids:
            return True
        text = _words(hit.candidate.text)
        same = process.extractOne(text, self._texts, scorer=fuzz.ratio, score_cutoff=SAME_TEXT)
        return same is not None

    def add(self, chosen: Chosen) -> None:
        self._stories.add(chosen.find.story.id)
        self._ids.add((chosen.find.corpus, chosen.hit.candidate.external_id))
        self._texts.append(_words(chosen.hit.candidate.text))


def _candidate(subscription: Subscription, find: StoryFind, memory: _Memory) -> Chosen | Reason:
    if unwanted := wants(subscription, find.story):
        return unwanted
    if memory.knows_story(find):
        return Rejected.STORY_POSTED
    reason = _reject_empty(subscription, find)
    for index, hit in enumerate(find.prophecy.hits):
        weakness = _weakness(subscription, find, hit)
        if weakness is None and not memory.knows_text(find, hit):
            return Chosen(find=find, hit=hit)
        # The reason to report is the best hit's, or else that a good hit was posted before.
        if index == 0 or weakness is None:
            reason = weakness or Rejected.TEXT_POSTED
    return reason


def _reject_empty(subscription: Subscription, find: StoryFind) -> Rejected:
    """Return the reason to report for a find without hits."""
    weakness = next((_weakness(subscription, find, hit) for hit in find.prophecy.near[:1]), None)
    return weakness or Rejected.NOTHING_FOUND


def _weakness(subscription: Subscription, find: StoryFind, hit: Hit) -> Rejected | None:
    judgment = judgment_of(hit)
    if judgment is not None:
        return Rejected.BELOW_THRESHOLD if judgment < subscription.threshold else None
    if find.prophecy.judged or not subscription.unjudged:
        return Rejected.NOT_JUDGED
    covered = hit.parts.get("lexical") or 0.0
    return Rejected.TOO_LITTLE_IN_COMMON if covered < subscription.unjudged_coverage else None


def _merit(find: StoryFind) -> tuple[object, ...]:
    hits = find.prophecy.hits
    judgments = [judgment for hit in hits if (judgment := judgment_of(hit)) is not None]
    return (
        -max(judgments) if judgments else 1,
        -round(hits[0].score, 9) if hits else 0.0,
        find.story.published,
        find.id,
    )


def _words(text: str) -> str:
    compared = text[:_COMPARED]
    return bare(compared) or compared
