"""Headlines of a feed, and the stories that they tell: which are new, and which tell the same."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from hashlib import sha256

from engine.feeds.feed import FeedEntry, NewHeadline, ParsedFeed
from engine.feeds.markup import hash_of, plain_words
from engine.prophecy.headline import read_headline
from engine.text.address import link_key
from engine.text.terms import FUNCTION_WORDS, folded_words

_ALIKE = 0.75  # Jaccard share of words, if one headline's words include the other's
_ALIKE_OTHERWISE = 0.8  # the same without numbers, if each has a word that the other lacks
_FEWEST = 4  # words; shorter headlines match only if their words are the same
_SHORTEST = 12  # letters of those words: "Editorial" stands over something new every day
SAME_WORDS_WITHIN = timedelta(hours=48)
SAME_HEADLINE_WITHIN = timedelta(days=7)  # programs put an old entry up again under a new identity
_OTHER_NEWS = 1 / 3  # share of their words that two titles of one guid have at most
_EDITED_FOR = timedelta(hours=12)
_LONGEST_FROM_SUMMARY = 200  # for an entry without a title, as short posts are
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)  # programs write earlier dates for "no date"
_NEWS_FOR = timedelta(days=7)  # an entry that its author dates earlier is not news


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct content words of a headline, sorted, without case and accents."""
    words = set(folded_words(text))
    return tuple(sorted(words - FUNCTION_WORDS or words))


def select_index_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return a subset of `words`; every headline of the same story contains at least one of it.

    A story shares so many words that it cannot miss all of these (prefix filtering: Chaudhuri,
    Ganti, Kaushik 2006). They are the longest words, which tend to be the rarest, so that an index
    of words proposes few stories.
    """
    spared = len(words) - math.ceil(_ALIKE * len(words)) + 1
    return tuple(sorted(words, key=lambda word: (-len(word), word))[:spared])


def is_near_duplicate(words: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two headlines, as `words_of` gives them, are nearly identical. Symmetric.

    They must name the same numbers ("5 dead" is not "7 dead") and share three quarters of their
    words (Jaccard). If each has a word that the other lacks, they must share four fifths of the
    words that are not numbers: lottery draws and weekly lists differ in one word and agree in their
    dates.
    """
    mine, theirs = set(words), set(other)
    if mine == theirs or min(len(mine), len(theirs)) < _FEWEST:
        return mine == theirs and sum(map(len, mine)) >= _SHORTEST
    if {word for word in mine ^ theirs if word[0].isdigit()}:
        return False
    shared, either = len(mine & theirs), len(mine | theirs)
    if mine <= theirs or mine >= theirs:
        return shared >= _ALIKE * either
    numbers = sum(word[0].isdigit() for word in mine & theirs)
    return shared - numbers >= _ALIKE_OTHERWISE * (either - numbers)


def repeats_headline(text: str, headline: str) -> bool:
    """Return whether a text tells a headline again: in almost the same words, or with more around
    them, such as a quotation."""
    words, told = words_of(text), words_of(headline)
    quoted = len(told) >= _FEWEST and {*told} <= {*words}
    return quoted or is_near_duplicate(words, told)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHeadline:
    """A headline of a feed as it is stored."""

    title: str
    link: str | None
    published: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryWords:
    """What a story is recognised by. Stories that are not stored yet have negative ids."""

    id: int
    link_key: str | None
    words: tuple[str, ...]
    published: datetime


def join_stories(
    headlines: Sequence[NewHeadline], earlier: Iterable[StoryWords]
) -> tuple[StoryWords, ...]:
    """Return the story of each headline: the same link, else near-identical words within 48 hours,
    or the same words within a week.

    `earlier` must hold every story with the link of a headline, or with one of its telling words
    within a week. If several fit, the first is taken. Headlines of one call also join each
    other: a new story has the id -1, -2, ... and the words of its first headline.
    """
    stories = _Index(earlier)
    return tuple(
        stories.find(headline) or stories.add(headline, -number)
        for number, headline in enumerate(headlines, start=1)
    )


class _Index:
    """Stories by their links and their words, in the order in which they were entered."""

    def __init__(self, stories: Iterable[StoryWords]) -> None:
        self._by_link: dict[str, StoryWords] = {}
        self._by_word: defaultdict[str, list[StoryWords]] = defaultdict(list)
        self._order: dict[int, int] = {}
        for story in stories:
            self._enter(story)

    def find(self, headline: NewHeadline) -> StoryWords | None:
        """Return the first story that a headline tells, by its link or its words, or None."""
        if headline.link_key is not None and headline.link_key in self._by_link:
            return self._by_link[headline.link_key]
        words = words_of(headline.text)
        alike = {
            story.id: story for word in select_index_words(words) for story in self._by_word[word]
        }
        fitting = (
            story
            for story in alike.values()
            if abs(story.published - headline.published)
            <= (SAME_HEADLINE_WITHIN if words == story.words else SAME_WORDS_WITHIN)
            and is_near_duplicate(words, story.words)
        )
        return min(fitting, key=lambda story: self._order[story.id], default=None)

    def add(self, headline: NewHeadline, number: int) -> StoryWords:
        """Enter a headline as a story of its own, and return that."""
        story = StoryWords(
            id=number,
            link_key=headline.link_key,
            words=words_of(headline.text),
            published=headline.published,
        )
        self._enter(story)
        return story

    def _enter(self, story: StoryWords) -> None:
        self._order[story.id] = len(self._order)
        if story.link_key is not None:
            self._by_link.setdefault(story.link_key, story)
        for word in story.words:
            self._by_word[word].append(story)


def headlines_of(
    parsed: ParsedFeed, *, now: datetime, added_at: datetime, is_first: bool
) -> tuple[NewHeadline, ...]:
    """Return the entries as headlines, each identity once, in the order of the feed.

    Entries without words are left out. An entry is not news if its date is before the feed was
    added, or more than a week ago. At the first poll of a feed, only dated entries are news.
    """
    keys = [link_key(entry.link) if entry.link else None for entry in parsed.entries]
    shared = _find_shared_links(parsed.entries, keys)
    oldest_news = max(now - _NEWS_FOR, added_at)
    headlines: dict[str, NewHeadline] = {}
    for entry, key in zip(parsed.entries, keys, strict=True):
        title = entry.title or plain_words(entry.summary, _LONGEST_FROM_SUMMARY)
        text = read_headline(title).text
        if not words_of(text) or entry.identity in headlines:
            continue
        published = _date_story(entry.published, now)
        guessed = published != entry.published  # it may be older than the feed's first poll
        headlines[entry.identity] = NewHeadline(
            identity=entry.identity,
            title=title,
            text=text,
            published=published,
            link=entry.link,
            summary=entry.summary,
            author=entry.author,
            tags=entry.tags,
            language=parsed.language,
            link_key=None if key in shared else key,
            seen_before=_is_earlier(published, oldest_news) or (is_first and guessed),
        )
    return tuple(headlines.values())


def _is_earlier(published: datetime, moment: datetime) -> bool:
    """Return whether an entry is older than a moment; a date without a time is not, on that day."""
    whole_day = published.time() == time() and published.date() == moment.astimezone(UTC).date()
    return published < moment and not whole_day


def is_reused(headline: NewHeadline, stored: KnownHeadline) -> bool:
    """Return whether the guid of a known headline now stands over other news.

    Editors change titles: other words are other news only if the link or the day differs as well.
    """
    words, before = set(words_of(headline.text)), set(words_of(stored.title))
    shared = len(words & before) / max(len(words | before), 1)
    key = link_key(stored.link) if stored.link else None
    is_elsewhere = headline.link_key is None or headline.link_key != key
    is_later = headline.published - stored.published > _EDITED_FOR
    return shared < _OTHER_NEWS and (is_elsewhere or is_later)


def identify_by_title(headline: NewHeadline) -> NewHeadline:
    """Return a headline whose guid identifies nothing under an identity made of its words."""
    return replace(headline, identity=hash_of(headline.identity, headline.text.casefold()))


def identity_hash(headline: NewHeadline) -> bytes:
    """Return the SHA-256 of the identity that the feed gives the entry."""
    return sha256(headline.identity.encode()).digest()


def words_hash(headline: NewHeadline) -> bytes:
    """Return the SHA-256 of link and words, which recognises an entry whose guid has changed."""
    key = link_key(headline.link) if headline.link else None
    return sha256("\0".join((key or "", headline.text.casefold())).encode()).digest()


def _date_story(published: datetime | None, now: datetime) -> datetime:
    """Return the date, or the time first seen if there is none; never one in the future."""
    return now if published is None or published < _EARLIEST else min(published, now)


def _find_shared_links(entries: Sequence[FeedEntry], keys: Sequence[str | None]) -> set[str]:
    """Return the keys of links that different entries share: of pages about many things."""
    titles: dict[str, set[str]] = defaultdict(set)
    for entry, key in zip(entries, keys, strict=True):
        if key:
            titles[key].add(entry.title)
    return {key for key, named in titles.items() if len(named) > 1}
