"""Chooses when a chat is posted to and with which finds, without repeating a story or a text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import TypeAlias

from rapidfuzz import fuzz, process

from engine.chat import Chat, zone_or_utc
from engine.feeds.decide import same_story
from engine.feeds.feed import Story
from engine.posting.delivery import Chosen, PostedTweet, PostingMode, StoryFind, Subscription
from engine.ranking import strip_dress
from engine.search import HIGHEST_JUDGMENT, Hit, HitKind, Prophecy
from engine.text.clean import fold_case_and_accents

_FIRST = 5.0  # seconds
_LONGEST = 15 * 60.0
_SPREAD = 0.2  # share added at random, so that many clients do not retry at once
GRACE = timedelta(hours=6)  # how late a post may be if the program was not running at its hour
# How far a post looks back. An hour more than a day: a date may have 25 hours.
WINDOW = timedelta(hours=25)
# A post delayed by quiet hours may have to wait through the next ones as well.
_DAYS_BACK = 2
_DAY = timedelta(days=1)
_DAYS_AHEAD = 10  # one weekday of seven, plus a date that the zone may skip
PROMISING = 0.33  # an unjudged story below this promise (0..1) is not kept
HITS = 12  # of an unjudged prophecy, from which the promise is computed
_WORDS = 3
_FEW_WORDS = 0.5
_NOT_WORD = re.compile(r"[\W_]+")
# What a judged text needs (0..6) to be told unasked: of those worth 5 people would forward nearly
# all, of those worth 4 every second. An earlier case is worth 4 at most, by the judge's prompt.
_LEAST_JUDGMENT, LEAST_OF_EARLIER_CASE = 5, 4
_ORDER = {kind: number for number, kind in enumerate(HitKind)}
# That something has happened before is told at most once in this time.
EARLIER_CASE_EVERY = timedelta(days=7)
AGAIN_AFTER = timedelta(days=180)  # the same text is not posted again in a chat within this time
# A story is not told again in the words of another feed within this time.
RETOLD_AFTER = timedelta(days=31)
SAME_TEXT = 90.0  # rapidfuzz's ratio (0..100) from which two texts count as the same
_COMPARED = 5_000  # characters


def is_quiet(chat: Chat, now: datetime) -> bool:
    """Tell whether `now` is within the chat's quiet hours, which may span midnight."""
    start, end = chat.quiet_from, chat.quiet_to
    if start is None or end is None:
        return False
    local = now.astimezone(zone_or_utc(chat.time_zone)).time()
    return start <= local < end if start < end else local >= start or local < end


def pause_before(attempts: int, jitter: float) -> timedelta:
    """Return the pause after so many `attempts` (1 and up); `jitter` is a random number in 0..1."""
    wait = min(_FIRST * 2.0 ** min(attempts - 1, 30), _LONGEST)
    return timedelta(seconds=wait * (1 + _SPREAD * jitter))


def find_due_day(
    subscription: Subscription, now: datetime, last_decided: date | None, grace: timedelta = GRACE
) -> date | None:
    """Return the local date whose daily post is due at `now`, or None.

    `last_decided` is the last local date that was decided, whether posted or not. A post stays due
    for `grace`, not counting quiet hours. Of several missed posts only the last is due.
    """
    if subscription.mode is not PostingMode.DAILY or is_quiet(subscription.chat, now):
        return None
    today = now.astimezone(_find_zone(subscription)).date()
    for day in (today - number * _DAY for number in range(_DAYS_BACK + 1)):
        if last_decided and day <= last_decided:
            return None
        planned = planned_at(subscription, day)
        if planned and planned <= now <= _last_chance(subscription, planned, grace):
            return day
    return None


def planned_at(subscription: Subscription, day: date) -> datetime | None:
    """Return when (UTC) the daily post of a local date is to go out, or None if there is none."""
    zone = _find_zone(subscription)
    if day.weekday() not in subscription.weekdays or not _is_local_day(day, zone):
        return None
    planned = _find_moment(day, subscription.at, zone)
    if subscription.timed_from and planned < subscription.timed_from:
        return None
    if not is_quiet(subscription.chat, planned):
        return planned
    return next(end for _, end in _quiet_hours(subscription, planned) if end > planned)


def next_planned(subscription: Subscription, now: datetime) -> datetime | None:
    """Return when (UTC) the first daily post after `now` is to go out, or None if there is none."""
    if subscription.mode is not PostingMode.DAILY:
        return None
    # Start the day before: quiet hours may have delayed its post until now.
    first = now.astimezone(_find_zone(subscription)).date() - _DAY
    planned = (planned_at(subscription, first + number * _DAY) for number in range(_DAYS_AHEAD))
    return next((moment for moment in planned if moment and moment > now), None)


def next_look(subscription: Subscription, now: datetime) -> datetime:
    """Return until when (UTC) nothing becomes due by the clock alone, once `now` was dealt with.

    Finds may make chats due that are told at once. The answer is at most a day away, whatever
    becomes of the rules of time zones.
    """
    looks = [now + _DAY]
    if is_quiet(subscription.chat, now):
        looks.append(next(end for _, end in _quiet_hours(subscription, now) if end > now))
    if planned := next_planned(subscription, now):
        looks.append(planned)
    if subscription.mode is PostingMode.INSTANT:
        local = now.astimezone(_find_zone(subscription))
        looks.append(_find_moment(local.date() + _DAY, time.min, _find_zone(subscription)))
    return min(looks)


def instant_allowed(subscription: Subscription, now: datetime) -> bool:
    """Return whether a find may be posted immediately at `now`."""
    return (
        subscription.mode is PostingMode.INSTANT
        and now.astimezone(_find_zone(subscription)).weekday() in subscription.weekdays
        and not is_quiet(subscription.chat, now)
    )


def _last_chance(subscription: Subscription, planned: datetime, grace: timedelta) -> datetime:
    end = planned + grace
    for quiet_from, quiet_to in _quiet_hours(subscription, planned):
        if planned < quiet_from < end:
            end += quiet_to - quiet_from
    return end


def _quiet_hours(
    subscription: Subscription, around: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the start and end of the chat's quiet hours from the day before `around`, in order."""
    start, end = subscription.chat.quiet_from, subscription.chat.quiet_to
    if start is None or end is None:
        return
    zone = _find_zone(subscription)
    first = around.astimezone(zone).date() - _DAY
    for day in (first + number * _DAY for number in range(_DAYS_BACK + 2)):
        last = day if start < end else day + _DAY
        yield _find_moment(day, start, zone), _find_moment(last, end, zone)


def _find_moment(day: date, at: time, zone: tzinfo) -> datetime:
    """Return the first moment (UTC) at which clocks show this, or would have, had they not been
    put forward."""
    return datetime.combine(day, at, zone).astimezone(UTC)


def _is_local_day(day: date, zone: tzinfo) -> bool:
    """Tell whether this date occurs in the zone."""
    days = (_find_moment(day, at, zone).astimezone(zone).date() for at in (time.min, time.max))
    return day in days


def _find_zone(subscription: Subscription) -> tzinfo:
    return zone_or_utc(subscription.chat.time_zone)


def measure_promise(prophecy: Prophecy) -> float:
    """Return the highest share of the headline's idf (0..1) that one hit covers.

    A hit counts half unless it shares three words with the headline, or all words of a shorter one.
    The prophecy need not be judged. Its first `HITS` hits count, and the semantically near hits
    after them: a model may see more in a long text than its words show.
    """
    words = {term.shown: term.neighbour_of or term.word for term in prophecy.terms}
    needed = min(_WORDS, len(set(words.values())))

    def estimate_promise(hit: Hit) -> float:
        in_common = {words.get(word, word) for word in hit.matched}
        covered = hit.parts.get("lexical") or 0.0
        return covered if len(in_common) >= needed else covered * _FEW_WORDS

    first = (*prophecy.hits, *prophecy.near)[:HITS]
    return max(map(estimate_promise, first), default=0.0)


class MismatchReason(StrEnum):
    """Why a subscription does not want a story."""

    OLD = "old"  # from before the chat subscribed
    CATEGORY = "category"
    FEED = "feed"
    LANGUAGE = "language"
    WORD_MISSING = "word missing"
    WORD_PRESENT = "word present"


def find_mismatch(subscription: Subscription, story: Story) -> MismatchReason | None:
    """Return why the subscription does not want the story, or None if it does.

    Whole words of the title are compared, ignoring case and accents. A story without a language or
    category does not pass a filter on it.
    """
    if subscription.since and story.first_seen_at < subscription.since:
        return MismatchReason.OLD
    if unwanted := _not_from(subscription, story):
        return unwanted
    if subscription.must and not _has_wanted_word(subscription.must, story.title):
        return MismatchReason.WORD_MISSING
    if _has_wanted_word(subscription.must_not, story.title):
        return MismatchReason.WORD_PRESENT
    return None


def _not_from(subscription: Subscription, story: Story) -> MismatchReason | None:
    """Return why the subscription does not want news from where the story comes from."""
    if subscription.categories and not _has_common_value(subscription.categories, story.categories):
        return MismatchReason.CATEGORY
    if subscription.feeds and not _has_wanted_word(subscription.feeds, story.source or ""):
        return MismatchReason.FEED
    if subscription.languages and not _has_common_value(
        subscription.languages, (story.language or "",)
    ):
        return MismatchReason.LANGUAGE
    return None


def _has_wanted_word(wanted: Iterable[str], text: str) -> bool:
    """Tell whether one of the wanted words occurs in a text."""
    normal = f" {_normal_words(text)} "
    return any(f" {plain} " in normal for word in wanted if (plain := _normal_words(word)))


def _normal_words(text: str) -> str:
    """Return the words of a text in the form that is compared, single-spaced."""
    return " ".join(_NOT_WORD.sub(" ", fold_case_and_accents(text)).split())


def _has_common_value(wanted: Iterable[str], given: Iterable[str]) -> bool:
    return not {word.casefold() for word in wanted}.isdisjoint(word.casefold() for word in given)


class RejectionReason(StrEnum):
    """Why a find that matches the subscription is not posted."""

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
class LeftOut:
    """A find that is not posted, and the reason."""

    find: StoryFind
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The outcome for all finds: those that are posted, best first, and the others."""

    chosen: tuple[Chosen, ...]
    left_out: tuple[LeftOut, ...]


def choose_finds(
    subscription: Subscription,
    finds: Iterable[StoryFind],
    already_posted: Sequence[PostedTweet],
    now: datetime,
    *,
    again_after: timedelta = AGAIN_AFTER,
) -> Choice:
    """Return those of `finds` that the chat is told at `now`, at most `subscription.best`.

    Judged finds come before unjudged ones, then the better judgment, earlier cases after others,
    then the better score, then the older story. `already_posted` is what the chat was told before;
    if it was told the best hit of a find recently, the next good hit is posted instead.
    """
    memory = _Memory(already_posted, now - again_after, now)
    items: list[Chosen] = []
    left_out: list[LeftOut] = []
    for find in sorted(finds, key=_build_merit_key):
        outcome = _choose_hit(subscription, find, memory)
        if isinstance(outcome, Chosen) and len(items) >= subscription.best:
            outcome = RejectionReason.BEYOND_BEST
        if isinstance(outcome, Chosen):
            items.append(outcome)
            memory.add(outcome)
        else:
            left_out.append(LeftOut(find=find, reason=outcome))
    return Choice(chosen=tuple(items), left_out=tuple(left_out))


def judgment_of(hit: Hit) -> int | None:
    """Return the model's judgment of a hit, 0..6, or None if the model was not asked."""
    part = hit.parts.get("judgment")
    return None if part is None else round(part * HIGHEST_JUDGMENT)


def find_shortfall(hit: Hit, threshold: HitKind) -> RejectionReason | None:
    """Return why a judged hit is not told unasked where `threshold` is the last kind that is.

    A hit whose kind the model did not name counts as a mirror.
    """
    kind = hit.kind or HitKind.MIRROR
    if _ORDER[kind] > _ORDER[threshold]:
        return RejectionReason.UNWANTED_KIND
    least = LEAST_OF_EARLIER_CASE if kind is HitKind.EARLIER_CASE else _LEAST_JUDGMENT
    return RejectionReason.TOO_WEAK if (judgment_of(hit) or 0) < least else None


def is_same_news(find: StoryFind, told: StoryFind | PostedTweet) -> bool:
    """Tell whether two stories that feeds with other readers brought are one, for who reads both.

    They have the same link, or nearly identical words.
    """
    if find.link_key is not None and find.link_key == told.link_key:
        return True
    return same_story(find.words, told.words)


class _Memory:
    """What the chat has been told."""

    def __init__(self, posted: Sequence[PostedTweet], since: datetime, now: datetime) -> None:
        recent = [post for post in posted if post.posted_at > since]
        self._stories = {post.story_id for post in posted}
        self._news: list[PostedTweet | StoryFind] = [
            post for post in posted if post.posted_at > now - RETOLD_AFTER
        ]
        self._ids = {(post.corpus, post.external_id) for post in recent}
        self._texts = [_build_compared_text(post.text) for post in recent]
        self._earlier_case = any(
            post.kind is HitKind.EARLIER_CASE and post.posted_at > now - EARLIER_CASE_EVERY
            for post in posted
        )

    def knows_story(self, find: StoryFind) -> bool:
        return find.story.id in self._stories

    def knows_news(self, find: StoryFind) -> bool:
        """Tell whether the chat was told the same news as another story, of another feed."""
        return any(is_same_news(find, told) for told in self._news)

    def _knows_text(self, find: StoryFind, hit: Hit) -> bool:
        if (find.corpus, hit.candidate.external_id) in self._ids:
            return True
        text = _build_compared_text(hit.candidate.text)
        same = process.extractOne(text, self._texts, scorer=fuzz.ratio, score_cutoff=SAME_TEXT)
        return same is not None

    def find_repetition(self, find: StoryFind, hit: Hit) -> RejectionReason | None:
        """Return why the chat has been told as much before, or None."""
        if self._earlier_case and hit.kind is HitKind.EARLIER_CASE:
            return RejectionReason.EARLIER_CASE
        return RejectionReason.TEXT_POSTED if self._knows_text(find, hit) else None

    def add(self, chosen: Chosen) -> None:
        self._earlier_case |= chosen.hit.kind is HitKind.EARLIER_CASE
        self._stories.add(chosen.find.story.id)
        self._news.append(chosen.find)
        self._ids.add((chosen.find.corpus, chosen.hit.candidate.external_id))
        self._texts.append(_build_compared_text(chosen.hit.candidate.text))


def _choose_hit(subscription: Subscription, find: StoryFind, memory: _Memory) -> Chosen | Reason:
    if unwanted := find_mismatch(subscription, find.story):
        return unwanted
    if memory.knows_story(find):
        return RejectionReason.STORY_POSTED
    reason = _reject_empty(subscription, find)
    for index, hit in enumerate(find.prophecy.hits):
        weakness = _find_weakness(subscription, find, hit)
        rejection = weakness or memory.find_repetition(find, hit)
        if rejection is None:
            if memory.knows_news(find):
                return RejectionReason.STORY_POSTED
            return Chosen(find=find, hit=hit)
        # The reason to report is the best hit's, or else that of a good hit.
        if index == 0 or weakness is None:
            reason = rejection
    return reason


def _reject_empty(subscription: Subscription, find: StoryFind) -> RejectionReason:
    """Return the reason to report for a find without hits."""
    weakness = next(
        (_find_weakness(subscription, find, hit) for hit in find.prophecy.near[:1]), None
    )
    return weakness or RejectionReason.NOTHING_FOUND


def _find_weakness(subscription: Subscription, find: StoryFind, hit: Hit) -> RejectionReason | None:
    if judgment_of(hit) is not None:
        return find_shortfall(hit, subscription.threshold)
    if find.prophecy.judged or not subscription.unjudged:
        return RejectionReason.NOT_JUDGED
    covered = hit.parts.get("lexical") or 0.0
    return (
        RejectionReason.TOO_LITTLE_IN_COMMON if covered < subscription.unjudged_coverage else None
    )


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


def _build_compared_text(text: str) -> str:
    compared = text[:_COMPARED]
    return strip_dress(compared) or compared
