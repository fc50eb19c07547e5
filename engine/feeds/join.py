"""Headlines joined to stories: each to one that is known, or to a new one."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.feeds.stories import same_story, telling, words_of
from engine.feeds.types import NewHeadline

SAME_WORDS_WITHIN = timedelta(hours=48)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryWords:
    """What a story is recognised by. Ids of stories that are not stored yet are negative."""

    id: int
    link_key: str | None
    words: tuple[str, ...]
    published: datetime


def join(headlines: Sequence[NewHeadline], known: Iterable[StoryWords]) -> tuple[StoryWords, ...]:
    """Return the story of each headline: the same link, else near-identical words in 48 hours.

    `known` must hold every story with the link of a headline, or with one of its telling words
    within that time. Of several that fit, the first is taken. Headlines of one call join each
    other too: a new story has the id -1, -2, ... and what its first headline says.
    """
    stories = _Index(known)
    return tuple(
        stories.find(headline) or stories.add(headline, -number)
        for number, headline in enumerate(headlines, start=1)
    )


class _Index:
    def __init__(self, known: Iterable[StoryWords]) -> None:
        self._by_link: dict[str, StoryWords] = {}
        self._by_word: defaultdict[str, list[StoryWords]] = defaultdict(list)
        self._order: dict[int, int] = {}
        for story in known:
            self._enter(story)

    def find(self, headline: NewHeadline) -> StoryWords | None:
        if headline.link_key is not None and headline.link_key in self._by_link:
            return self._by_link[headline.link_key]
        words = words_of(headline.text)
        alike = {story.id: story for word in telling(words) for story in self._by_word[word]}
        fitting = (
            story
            for story in alike.values()
            if abs(story.published - headline.published) <= SAME_WORDS_WITHIN
            and same_story(words, story.words)
        )
        return min(fitting, key=lambda story: self._order[story.id], default=None)

    def add(self, headline: NewHeadline, number: int) -> StoryWords:
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
