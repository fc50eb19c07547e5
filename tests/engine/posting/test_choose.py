"""Of all finds a chat is told the best: one story once, one text not again."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat import Chat
from engine.feeds.stories import words_of
from engine.posting.choose import (
    REPEAT_AFTER,
    MismatchReason,
    Reason,
    RejectionReason,
    check_filters,
    measure_promise,
    select_finds,
)
from engine.posting.delivery import PostedTweet, SelectedFind, StoryFind, Subscription
from engine.posting.schedule import is_quiet
from engine.search import HitKind, Term
from tests.engine.posting.finds import NOW, find, hit, posted, prophecy, story
from tests.engine.posting.subscriptions import subscribed

OPEN = subscribed(unjudged=True)


def chosen_texts(
    finds: list[StoryFind], *past: PostedTweet, chat: Subscription | None = None
) -> list[str]:
    choice = select_finds(chat or subscribed(), finds, past, NOW)
    return [one.hit.candidate.text for one in choice.selected]


def reason(found: StoryFind, *past: PostedTweet, chat: Subscription | None = None) -> Reason:
    choice = select_finds(chat or subscribed(), [found], past, NOW)
    assert choice.selected == ()
    return choice.rejected[0].reason


def test_a_find_that_is_good_and_of_a_wanted_kind_is_posted() -> None:
    assert chosen_texts([find(1, hit("old", judgment=5))]) == ["old"]
    assert reason(find(1, hit("old", judgment=4))) is RejectionReason.TOO_WEAK
    mirror = find(1, hit("old", judgment=6, kind=HitKind.MIRROR))
    assert chosen_texts([mirror]) == ["old"]
    demands = subscribed(threshold=HitKind.DEMAND)
    assert reason(mirror, chat=demands) is RejectionReason.UNWANTED_KIND
    demand = find(1, hit("old", judgment=5, kind=HitKind.DEMAND))
    assert chosen_texts([demand], chat=demands) == ["old"]


def test_an_unjudged_find_is_posted_only_if_the_chat_allows_it() -> None:
    guess = find(1, hit("guess", judgment=None, lexical=0.6))
    assert reason(guess) is RejectionReason.NOT_JUDGED
    assert chosen_texts([guess], chat=OPEN) == ["guess"]
    weak = find(1, hit("weak", judgment=None, lexical=0.59))
    assert reason(weak, chat=OPEN) is RejectionReason.TOO_LITTLE_IN_COMMON


def test_one_earlier_case_a_week_is_posted_after_what_was_foretold() -> None:
    case = HitKind.EARLIER_CASE
    chat = subscribed(threshold=case)
    cases = [find(number, hit(f"case {number}", kind=case)) for number in (1, 2)]
    foretold = find(3, hit("foretold", kind=HitKind.PREDICTION))
    assert chosen_texts([*cases, foretold], chat=chat) == ["foretold", "case 1"]
    assert chosen_texts([*cases, foretold]) == ["foretold"]
    recent, past = (posted("other", kind=case, days_ago=days) for days in (6, 8))
    assert reason(cases[0], recent, chat=chat) is RejectionReason.EARLIER_CASE
    assert chosen_texts(cases[:1], past, chat=chat) == ["case 1"]
    mirror = hit("mirror", kind=HitKind.MIRROR)
    both = find(4, hit("case 4", kind=case), mirror)
    assert chosen_texts([both], recent, chat=chat) == ["mirror"]


def test_a_story_is_never_posted_twice() -> None:
    found = find(1, hit("another"))
    assert reason(found, posted("one", story_id=1, days_ago=400)) is RejectionReason.STORY_POSTED
    assert chosen_texts([found], posted("one", story_id=None)) == ["another"]


NEWS = ("coffee", "harvest", "high", "prices", "record")


@pytest.mark.parametrize(
    ("words", "link_key", "days_ago", "told"),
    [
        ((*NEWS, "again"), None, 30, False),
        ((*NEWS, "again"), None, 32, True),
        (("brokers", "cheer", "espresso", "traders"), "news.test/1", 30, False),
        (("brokers", "cheer", "espresso", "traders"), "news.test/2", 30, True),
        ((*NEWS[:4], "9"), None, 1, True),
    ],
)
def test_news_are_not_told_again_as_the_story_of_another_feed_for_a_month(
    words: tuple[str, ...], link_key: str | None, days_ago: float, told: bool
) -> None:
    again = replace(find(2, hit("a second tweet")), words=words, link_key=link_key)
    past = posted("a first tweet", days_ago=days_ago)
    past = replace(past, words=NEWS, link_key="news.test/1")
    assert chosen_texts([again], past) == ["a second tweet"] * told


@pytest.mark.parametrize(
    ("headline", "tweets", "days_ago", "told"),
    [
        ("Brokers stunned: coffee at a record", "a", 2.9, False),
        ("Brokers stunned: coffee at a record", "a", 3.1, True),
        ("Brokers stunned by coffee", "a", 1, True),
        ("Brokers stunned by coffee", "ab", 1, False),
        ("El café bate todas las marcas", "ab", 1, True),
        ("El café bate todas las marcas", "abc", 1, False),
    ],
)
def test_news_under_another_headline_are_known_by_the_tweets_that_foretold_them(
    headline: str, tweets: str, days_ago: float, told: bool
) -> None:
    again = replace(find(2, *map(hit, [*tweets, "new"])), words=words_of(headline))
    past = posted("a", days_ago=days_ago, words=NEWS, hits=("b", "c"))
    assert bool(chosen_texts([again], past)) == told
    weak = replace(
        again, prophecy=prophecy(*(hit(each, judgment=4) for each in tweets), hit("new"))
    )
    assert chosen_texts([weak], past) == ["new"]
    assert chosen_texts([replace(again, corpus="other")], past)


@pytest.mark.parametrize(
    ("days_between", "tweets", "told"),
    [(2.9, "a", False), (-2.9, "a", False), (3, "a", True), (0, "", True)],
)
def test_news_that_a_feed_brings_late_are_known_by_when_they_appeared(
    days_between: float, tweets: str, told: bool
) -> None:
    appeared = NOW - timedelta(days=9)
    past = replace(posted("a", days_ago=8, words=NEWS), appeared_at=appeared)
    late = replace(
        find(2, *map(hit, [*tweets, "new"])),
        words=words_of("Brokers stunned: coffee at a record"),
        appeared_at=appeared + timedelta(days=days_between),
    )
    assert bool(chosen_texts([late], past)) == told


def test_one_post_holds_one_of_two_headlines_that_the_same_tweets_foretold() -> None:
    headlines = ("Coffee hits record high", "Record prices: brokers cheer coffee")
    both = [
        replace(find(number, hit("x"), hit("y")), words=words_of(text))
        for number, text in enumerate(headlines, 1)
    ]
    assert chosen_texts(both) == ["x"]


TEXT = "The price of coffee will go up and nobody will do anything about it."


@pytest.mark.parametrize(
    "before",
    [
        TEXT,
        TEXT.upper(),
        f"RT @ana: {TEXT}",
        f"{TEXT} https://t.co/x",
        TEXT.replace("nobody", "no one"),
    ],
)
def test_a_text_is_not_posted_again_for_a_long_while(before: str) -> None:
    found = find(1, hit(TEXT))
    assert reason(found, posted(before, days_ago=179.9)) is RejectionReason.TEXT_POSTED
    assert chosen_texts([found], posted(before, days_ago=180)) == [TEXT]


def test_a_document_is_not_posted_again_even_when_its_text_was_corrected() -> None:
    past = posted("As it was ingested at first.")
    again = hit("As it stands now, which is quite different.")
    same = replace(again.candidate, external_id=past.external_id)
    again = replace(again, candidate=same)
    assert reason(find(1, again), past) is RejectionReason.TEXT_POSTED
    elsewhere = posted("As it was ingested at first.", corpus="other")
    assert chosen_texts([find(1, again)], elsewhere) == [again.candidate.text]


def test_judged_finds_go_before_guesses_and_better_ones_before_worse() -> None:
    finds = [
        find(1, hit("guess", judgment=None, lexical=1.0, score=1.0)),
        find(2, hit("five", judgment=5, score=0.9)),
        find(3, hit("six", judgment=6, score=0.7)),
        find(4, hit("better six", judgment=6, score=0.8)),
    ]
    chat = subscribed(unjudged=True, best=10)
    assert chosen_texts(finds, chat=chat) == ["better six", "six", "five", "guess"]


HITS = st.builds(
    hit,
    st.sampled_from(["one", "two words", "three little words", TEXT, TEXT + " Sad!"]),
    judgment=st.none() | st.integers(0, 6),
    lexical=st.floats(0, 1),
    score=st.floats(0, 1),
)
FINDS = st.lists(st.lists(HITS, max_size=3), max_size=6).map(
    lambda found: [find(number, *hits) for number, hits in enumerate(found, start=1)]
)
PAST = st.lists(
    st.builds(
        posted,
        st.sampled_from(["one", TEXT]),
        story_id=st.integers(1, 6),
        days_ago=st.floats(0, 400),
    ),
    max_size=3,
)


@given(finds=FINDS, past=PAST, best=st.integers(1, 4), unjudged=st.booleans())
def test_every_find_is_posted_or_has_a_reason(
    finds: list[StoryFind], past: list[PostedTweet], best: int, unjudged: bool
) -> None:
    chat = subscribed(best=best, unjudged=unjudged)
    choice = select_finds(chat, finds, past, NOW)
    decided = [one.find.id for one in choice.selected]
    decided += [one.find.id for one in choice.rejected]
    assert sorted(decided) == [one.id for one in finds]
    assert len(choice.selected) <= best
    assert all(_allowed(one, past) for one in choice.selected)
    texts = [one.hit.candidate.text for one in choice.selected]
    assert len(set(texts)) == len(texts)
    assert select_finds(chat, reversed(finds), past, NOW) == choice


def _allowed(selected: SelectedFind, past: list[PostedTweet]) -> bool:
    recent = {one.text for one in past if NOW - one.posted_at < REPEAT_AFTER}
    stories = {one.story_id for one in past}
    judgment = selected.hit.parts["judgment"]
    good = (selected.hit.parts["lexical"] or 0) >= 0.6 if judgment is None else judgment >= 5 / 6
    return (
        good and selected.hit.candidate.text not in recent and selected.find.story.id not in stories
    )


TITLE = "México's central bank raises rates; markets fall"


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({}, None),
        ({"must": ("bank",)}, None),
        ({"must": ("opera", "rates")}, None),
        ({"must": ("CENTRAL BANK!",)}, None),
        ({"must": ("banks",)}, MismatchReason.WORD_MISSING),
        ({"must": ("bank central",)}, MismatchReason.WORD_MISSING),
        ({"must_not": ("fall",)}, MismatchReason.WORD_PRESENT),
        ({"must_not": ("méxico",)}, MismatchReason.WORD_PRESENT),
        ({"must_not": ("...",)}, None),
        ({"must": ("bank",), "must_not": ("bank",)}, MismatchReason.WORD_PRESENT),
        ({"languages": ("en", "es")}, None),
        ({"languages": ("ES",)}, MismatchReason.LANGUAGE),
        ({"categories": ("Economy",)}, None),
        ({"categories": ("sport",)}, MismatchReason.CATEGORY),
        ({"since": NOW - timedelta(hours=2, minutes=30)}, None),  # of before, seen since
        ({"since": NOW - timedelta(hours=2)}, None),
        ({"since": NOW - timedelta(hours=1)}, MismatchReason.OLD),
    ],
)
def test_each_filter_rejects_with_its_reason(
    filters: dict[str, Any], reason: MismatchReason | None
) -> None:
    news = story(title=TITLE, language="en", categories=("economy", "politics"))
    assert check_filters(subscribed(**filters), news) is reason


@given(words=st.text(max_size=20), title=st.text(max_size=60))
def test_any_word_can_be_required_or_excluded(words: str, title: str) -> None:
    """A word is present or missing, whatever characters it is made of."""
    news = story(title=title)
    missing = check_filters(subscribed(must=(words,)), news) is MismatchReason.WORD_MISSING
    present = check_filters(subscribed(must_not=(words,)), news) is MismatchReason.WORD_PRESENT
    assert missing is not present


CHAT = Chat(id=1, platform="test", external_id="1", private=False)


@pytest.mark.parametrize(
    ("start", "end", "zone", "now", "expected"),
    [
        ("23:00", "08:00", "UTC", "23:00", True),
        ("23:00", "08:00", "UTC", "07:59", True),
        ("23:00", "08:00", "UTC", "08:00", False),
        ("12:00", "13:00", "UTC", "12:30", True),
        ("22:00", "00:00", "UTC", "00:00", False),
        # In June Madrid is two hours ahead of UTC and Kolkata five and a half.
        ("23:00", "08:00", "Europe/Madrid", "21:00", True),
        ("23:00", "08:00", "Asia/Kolkata", "02:29", True),
        ("23:00", "08:00", "Asia/Kolkata", "02:30", False),
        ("23:00", "08:00", "Nowhere/Atall", "23:30", True),
    ],
)
def test_quiet_hours_are_local_and_may_span_midnight(
    start: str, end: str, zone: str, now: str, expected: bool
) -> None:
    chat = replace(
        CHAT, time_zone=zone, quiet_from=time.fromisoformat(start), quiet_to=time.fromisoformat(end)
    )
    moment = datetime.combine(datetime(2024, 6, 1, tzinfo=UTC), time.fromisoformat(now), UTC)
    assert is_quiet(chat, moment) is expected


# Stories are judged in the order of what they share with one old text


def term(word: str, neighbour_of: str | None = None) -> Term:
    return Term(
        word=word, lexemes=(word,), document_frequency=1, max_tf=1, neighbour_of=neighbour_of
    )


WORDS = tuple(map(term, ("coffee", "prices", "hit", "record", "high")))


def test_a_text_with_fewer_than_three_words_in_common_counts_half() -> None:
    found = prophecy(
        hit(lexical=0.9, matched=("coffee", "prices")),
        hit(lexical=0.4, matched=("coffee", "prices", "hit")),
        hit(lexical=0.5, matched=("coffee", "record", "high")),
        terms=WORDS,
    )
    assert measure_promise(found) == 0.5


@pytest.mark.parametrize("words", [1, 2])
def test_a_short_headline_needs_all_its_words(words: int) -> None:
    terms = WORDS[:words]
    whole = tuple(one.word for one in terms)
    assert measure_promise(prophecy(hit(lexical=0.8, matched=whole), terms=terms)) == 0.8
    assert measure_promise(prophecy(hit(lexical=0.8, matched=whole[1:]), terms=terms)) == 0.4
