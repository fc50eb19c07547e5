"""Selects the finds that a chat is told unasked: filters, thresholds, no story or text twice."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from rapidfuzz import fuzz, process

from engine.feeds.feed import Story
from engine.feeds.stories import is_near_duplicate
from engine.posting.delivery import PostedTweet, SelectedFind, StoryFind, Subscription
from engine.ranking import strip_dress
from engine.search import HIGHEST_JUDGMENT, Hit, HitKind, Prophecy
from engine.text.clean import fold_case_and_accents

# How far a post looks back. An hour more than a day: a date may have 25 hours.
WINDOW = timedelta(hours=25)
LEAST_PROMISE = 0.33  # an unjudged story below this promise (0..1) is not kept
PROMISE_HITS = 12  # of an unjudged prophecy, from which the promise is computed
_ENOUGH_SHARED_WORDS = 3
_FEW_WORDS_FACTOR = 0.5
_NOT_WORD = re.compile(r"[\W_]+")
# What a judged text needs (0..6) to be told unasked: of those worth 5 people would forward nearly
# all, of those worth 4 every second. An earlier case is worth 4 at most, by the judge's prompt.
_LEAST_JUDGMENT, LEAST_OF_EARLIER_CASE = 5, 4
# Words that an unjudged text shares with a headline that was only overheard; three are a name, or
# "tonight", "game" and "watching".
_FEWEST_IN_COMMON = 4
_ORDER = {kind: number for number, kind in enumerate(HitKind)}
# That something has happened before is told at most once in this time.
_EARLIER_CASE_EVERY = timedelta(days=7)
REPEAT_AFTER = timedelta(days=180)  # the same text is not posted again in a chat within this time
# A story is not told again in the words of another feed within this time.
RETOLD_AFTER = timedelta(days=31)
# Papers head one piece of news so differently that in one pair of thirteen the words are nearly the
# same. Headlines of a few days tell one story if they share words, and tweets that foretold them.
_FOLLOWED_FOR = timedelta(days=3)
_FEWEST_SHARED = 3  # words and tweets together
_DUPLICATE_RATIO = 90.0  # rapidfuzz's ratio (0..100) from which two texts count as the same
_COMPARED_CHARACTERS = 5_000
_NOTHING_COMPARED: Mapping[int, int] = MappingProxyType({})


def measure_promise(prophecy: Prophecy) -> float:
    """Return the highest share of the headline's idf (0..1) that one hit covers.

    A hit counts half unless it shares three words with the headline, or all words of a shorter one.
    The prophecy need not be judged. Its first `PROMISE_HITS` hits count, and the semantically near
    hits after them: a model may see more in a long text than its words show.
    """
    words = {term.shown: term.neighbour_of or term.word for term in prophecy.terms}
    needed = min(_ENOUGH_SHARED_WORDS, len(set(words.values())))

    def estimate_promise(hit: Hit) -> float:
        in_common = {words.get(word, word) for word in hit.matched}
        covered = hit.parts.get("lexical") or 0.0
        return covered if len(in_common) >= needed else covered * _FEW_WORDS_FACTOR

    first = (*prophecy.hits, *prophecy.near)[:PROMISE_HITS]
    return max(map(estimate_promise, first), default=0.0)


class MismatchReason(StrEnum):
    """The filter of a subscription that rejects a story."""

    OLD = "old"  # from before the chat subscribed
    CATEGORY = "category"
    FEED = "feed"
    LANGUAGE = "language"
    WORD_MISSING = "word missing"
    WORD_PRESENT = "word present"


def check_filters(subscription: Subscription, story: Story) -> MismatchReason | None:
    """Return the first filter of the subscription that rejects the story, or None.

    Whole words of the title are compared, ignoring case and accents. A story without a language or
    category does not pass a filter on it.
    """
    title, languages = story.title, (story.language or "",)
    if subscription.since and story.first_seen_at < subscription.since:
        return MismatchReason.OLD
    if subscription.categories and not _has_common_value(subscription.categories, story.categories):
        return MismatchReason.CATEGORY
    if subscription.feeds and not _has_wanted_word(subscription.feeds, story.source or ""):
        return MismatchReason.FEED
    if subscription.languages and not _has_common_value(subscription.languages, languages):
        return MismatchReason.LANGUAGE
    if subscription.must and not _has_wanted_word(subscription.must, title):
        return MismatchReason.WORD_MISSING
    return MismatchReason.WORD_PRESENT if _has_wanted_word(subscription.must_not, title) else None


def _has_wanted_word(wanted: Iterable[str], text: str) -> bool:
    """Return whether one of the wanted words occurs in a text."""
    normal = f" {_normalise_words(text)} "
    return any(f" {plain} " in normal for word in wanted if (plain := _normalise_words(word)))


def _normalise_words(text: str) -> str:
    """Return the words of a text without case, accents and punctuation, single-spaced."""
    return " ".join(_NOT_WORD.sub(" ", fold_case_and_accents(text)).split())


def _has_common_value(wanted: Iterable[str], given: Iterable[str]) -> bool:
    return not {word.casefold() for word in wanted}.isdisjoint(word.casefold() for word in given)


class RejectionReason(StrEnum):
    """Why a find whose story passes the filters is not posted."""

    NOTHING_FOUND = "nothing found"
    TOO_WEAK = "too weak"
    UNWANTED_KIND = "unwanted kind"
    NOT_JUDGED = "not judged"
    TOO_LITTLE_IN_COMMON = "too little in common"
    STORY_POSTED = "story posted"
    TEXT_POSTED = "text posted"
    EARLIER_CASE = "earlier case"
    BEYOND_BEST = "beyond best"


Reason: TypeAlias = MismatchReason | RejectionReason


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedFind:
    """A find that is not posted, and the reason."""

    find: StoryFind
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The finds that are posted, best first, and the others with the reason for each."""

    selected: tuple[SelectedFind, ...]
    rejected: tuple[RejectedFind, ...]


def select_finds(
    subscription: Subscription,
    finds: Iterable[StoryFind],
    already_posted: Sequence[PostedTweet],
    now: datetime,
    *,
    repeat_after: timedelta = REPEAT_AFTER,
    first_stories: Mapping[int, int] = _NOTHING_COMPARED,
) -> Selection:
    """Select the finds that the chat is told at `now`, at most `subscription.best`.

    Judged finds come before unjudged ones, then the better judgment, earlier cases after others,
    then the better score, then the older story. `already_posted` is what the chat was told before;
    if it was told the best hit of a find recently, the next good hit is posted instead.
    `first_stories` maps each story that a model compared to the first that tells the same, which
    may be itself; both are ids.
    """
    history = _PostHistory(already_posted, now - repeat_after, now, first_stories)
    selected: list[SelectedFind] = []
    rejected: list[RejectedFind] = []
    for find in sorted(finds, key=_build_merit_key):
        outcome = _select_hit(subscription, find, history)
        if isinstance(outcome, SelectedFind) and len(selected) >= subscription.best:
            outcome = RejectionReason.BEYOND_BEST
        if isinstance(outcome, SelectedFind):
            selected.append(outcome)
            history.add(outcome)
        else:
            rejected.append(RejectedFind(find=find, reason=outcome))
    return Selection(selected=tuple(selected), rejected=tuple(rejected))


def list_postable(
    subscription: Subscription,
    finds: Iterable[StoryFind],
    already_posted: Sequence[PostedTweet],
    now: datetime,
    *,
    repeat_after: timedelta = REPEAT_AFTER,
    first_stories: Mapping[int, int] = _NOTHING_COMPARED,
) -> tuple[StoryFind, ...]:
    """Return the finds that the chat would be told if each were the only one, best first.

    Any of them may be posted once another one is left out. The arguments are as in `select_finds`.
    """
    history = _PostHistory(already_posted, now - repeat_after, now, first_stories)
    return tuple(
        find
        for find in sorted(finds, key=_build_merit_key)
        if isinstance(_select_hit(subscription, find, history), SelectedFind)
    )


def judgment_of(hit: Hit) -> int | None:
    """Return the model's judgment of a hit, 0..6, or None if the model was not asked."""
    part = hit.parts.get("judgment")
    return None if part is None else round(part * HIGHEST_JUDGMENT)


def _check_judgment(hit: Hit, last_kind: HitKind) -> RejectionReason | None:
    """Return why a judged hit is too weak to be told unasked, or None if it is not.

    Kinds after `last_kind` are not told. A hit whose kind the model did not name counts as a
    mirror.
    """
    kind = hit.kind or HitKind.MIRROR
    if _ORDER[kind] > _ORDER[last_kind]:
        return RejectionReason.UNWANTED_KIND
    least = LEAST_OF_EARLIER_CASE if kind is HitKind.EARLIER_CASE else _LEAST_JUDGMENT
    return RejectionReason.TOO_WEAK if (judgment_of(hit) or 0) < least else None


def _check_strength(
    hit: Hit, last_kind: HitKind, unjudged_coverage: float
) -> RejectionReason | None:
    """Return why a hit is too weak to be told unasked, or None if it is not.

    A hit that was not judged must cover `unjudged_coverage` of the headline.
    """
    if judgment_of(hit) is not None:
        return _check_judgment(hit, last_kind)
    covered = hit.parts.get("lexical") or 0.0
    return RejectionReason.TOO_LITTLE_IN_COMMON if covered < unjudged_coverage else None


def is_worth_saying(prophecy: Prophecy, last_kind: HitKind, unjudged_coverage: float) -> bool:
    """Return whether the best hit is good enough to answer a headline that was only overheard.

    It must be good enough for a post. If it was not judged, it must also share four words with the
    headline: nobody has subscribed to what nobody judged.
    """
    if not prophecy.hits:
        return False
    best = prophecy.hits[0]
    if judgment_of(best) is None and len(set(best.matched)) < _FEWEST_IN_COMMON:
        return False
    return _check_strength(best, last_kind, unjudged_coverage) is None


def has_duplicate_story(
    find: StoryFind, posted: PostedTweet, now: datetime, *, apart: Container[int | None] = ()
) -> bool:
    """Return whether a find's story is one that was posted.

    It is if the link is the same, or nearly all words are, or if words and tweets are in common and
    the post, or both headlines, are of the same few days. A single tweet in common does not count
    for stories that a model told `apart`, by their ids.

    The two may come from different feeds, as other chats see them. A feed may bring a story weeks
    after another one did: then the headlines are of the same days, and the post is long past.
    """
    if find.link_key is not None and find.link_key == posted.link_key:
        return True
    if is_near_duplicate(find.words, posted.words):
        return True
    if find.corpus != posted.corpus or not _is_of_same_days(find, posted, now):
        return False
    tweets = len(list_good_hits(find) & posted.hits)
    if tweets == 1 and posted.story_id in apart:
        return False  # one tweet may foretell several chapters of an affair
    return tweets > 0 and tweets + len({*find.words} & {*posted.words}) >= _FEWEST_SHARED


def _is_of_same_days(find: StoryFind, posted: PostedTweet, now: datetime) -> bool:
    if posted.posted_at > now - _FOLLOWED_FOR:
        return True
    appeared, before = find.appeared_at, posted.appeared_at
    if appeared is None or before is None:
        return False
    return abs(appeared - before) < _FOLLOWED_FOR


def list_good_hits(find: StoryFind) -> frozenset[str]:
    """Return the ids of the hits that were judged good enough to be posted, of whatever kind."""
    return frozenset(
        hit.candidate.external_id
        for hit in find.prophecy.hits
        if _check_judgment(hit, HitKind.EARLIER_CASE) is None
    )


def remember_post(selected: SelectedFind, now: datetime) -> PostedTweet:
    """Return what a chat that is sent a find at `now` has been told."""
    find, candidate = selected.find, selected.hit.candidate
    return PostedTweet(
        story_id=find.story.id,
        corpus=find.corpus,
        external_id=candidate.external_id,
        text=candidate.text,
        posted_at=now,
        kind=selected.hit.kind,
        headline=find.story.text,
        words=find.words,
        link_key=find.link_key,
        appeared_at=find.appeared_at,
        hits=list_good_hits(find),
    )


class _PostHistory:
    """The stories and texts that the chat has been told."""

    def __init__(
        self,
        posted: Sequence[PostedTweet],
        since: datetime,
        now: datetime,
        first_stories: Mapping[int, int],
    ) -> None:
        recent = [post for post in posted if post.posted_at > since]
        self._now = now
        self._first_stories = first_stories
        self._story_ids = {post.story_id for post in posted}
        self._stories = [post for post in posted if post.posted_at > now - RETOLD_AFTER]
        self._ids = {(post.corpus, post.external_id) for post in recent}
        self._texts = [_normalise_text(post.text) for post in recent]
        self._earlier_case = any(
            post.kind is HitKind.EARLIER_CASE and post.posted_at > now - _EARLIER_CASE_EVERY
            for post in posted
        )

    def has_story(self, find: StoryFind) -> bool:
        return find.story.id in self._story_ids

    def has_duplicate(self, find: StoryFind) -> bool:
        """Return whether the chat was told the same news as another story, of another feed."""
        apart = self.list_apart(find)
        same = self._first_stories.keys() - apart if find.story.id in self._first_stories else ()
        return any(
            posted.story_id in same or has_duplicate_story(find, posted, self._now, apart=apart)
            for posted in self._stories
        )

    def list_apart(self, find: StoryFind) -> frozenset[int]:
        """Return the ids of the stories that a model compared with the find's, and told apart."""
        own_first = self._first_stories.get(find.story.id)
        return frozenset(
            story for story, first in self._first_stories.items() if own_first not in {None, first}
        )

    def check_repetition(self, find: StoryFind, hit: Hit) -> RejectionReason | None:
        """Return why the chat has been told as much before, or None."""
        if self._earlier_case and hit.kind is HitKind.EARLIER_CASE:
            return RejectionReason.EARLIER_CASE
        return RejectionReason.TEXT_POSTED if self._has_text(find, hit) else None

    def _has_text(self, find: StoryFind, hit: Hit) -> bool:
        if (find.corpus, hit.candidate.external_id) in self._ids:
            return True
        text = _normalise_text(hit.candidate.text)
        match = process.extractOne(
            text, self._texts, scorer=fuzz.ratio, score_cutoff=_DUPLICATE_RATIO
        )
        return match is not None

    def add(self, selected: SelectedFind) -> None:
        self._earlier_case |= selected.hit.kind is HitKind.EARLIER_CASE
        self._story_ids.add(selected.find.story.id)
        self._stories.append(remember_post(selected, self._now))
        self._ids.add((selected.find.corpus, selected.hit.candidate.external_id))
        self._texts.append(_normalise_text(selected.hit.candidate.text))


def _select_hit(
    subscription: Subscription, find: StoryFind, history: _PostHistory
) -> SelectedFind | Reason:
    """Return the best hit that may be posted, or the reason why there is none."""
    if mismatch := check_filters(subscription, find.story):
        return mismatch
    if history.has_story(find):
        return RejectionReason.STORY_POSTED
    reason = _explain_no_hits(subscription, find)
    for index, hit in enumerate(find.prophecy.hits):
        too_weak = _check_quality(subscription, find, hit)
        rejection = too_weak or history.check_repetition(find, hit)
        if rejection is None:
            if history.has_duplicate(find):
                return RejectionReason.STORY_POSTED
            return SelectedFind(find=find, hit=hit, apart=history.list_apart(find))
        # The reason to report is the best hit's, or else that of a good hit.
        if index == 0 or too_weak is None:
            reason = rejection
    return reason


def _explain_no_hits(subscription: Subscription, find: StoryFind) -> RejectionReason:
    """Return the reason to report for a find without hits: why its nearest text is not one."""
    near = find.prophecy.near
    too_weak = _check_quality(subscription, find, near[0]) if near else None
    return too_weak or RejectionReason.NOTHING_FOUND


def _check_quality(subscription: Subscription, find: StoryFind, hit: Hit) -> RejectionReason | None:
    """Return why a hit is not good enough for this chat, or None if it is."""
    unjudged = judgment_of(hit) is None
    if unjudged and (find.prophecy.judged or not subscription.unjudged):
        return RejectionReason.NOT_JUDGED
    return _check_strength(hit, subscription.threshold, subscription.unjudged_coverage)


def _build_merit_key(find: StoryFind) -> tuple[object, ...]:
    hits = find.prophecy.hits
    judgments = [judgment for hit in hits if (judgment := judgment_of(hit)) is not None]
    return (
        -max(judgments) if judgments else 1,
        bool(hits) and hits[0].kind is HitKind.EARLIER_CASE,
        -round(hits[0].score, 9) if hits else 0.0,
        find.story.published,
        find.id,
    )


def _normalise_text(text: str) -> str:
    compared = text[:_COMPARED_CHARACTERS]
    return strip_dress(compared) or compared
