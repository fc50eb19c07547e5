"""Headlines join the story they belong to, in any order, and no other."""

from datetime import UTC, datetime, timedelta

from engine.feeds.decide import StoryWords, join_stories, words_of
from engine.feeds.feed import NewHeadline
from engine.text.address import link_key

NOW = datetime(2026, 11, 22, tzinfo=UTC)
STORM = "Great storm floods the old harbour of Lisbon"
STORM_AGAIN = "Great storm floods old harbour of Lisbon city"
VOTE = "Parliament votes down the budget of the new minister"


def headline(text: str, *, link: str | None = None, hours: float = 0) -> NewHeadline:
    return NewHeadline(
        identity=text,
        title=text,
        text=text,
        published=NOW + timedelta(hours=hours),
        link=link,
        link_key=link_key(link) if link else None,
    )


def known(number: int, text: str, *, link: str | None = None) -> StoryWords:
    return StoryWords(
        id=number, link_key=link_key(link) if link else None, words=words_of(text), published=NOW
    )


def ids(*headlines: NewHeadline, stories: tuple[StoryWords, ...] = ()) -> list[int]:
    return [story.id for story in join_stories(headlines, stories)]


def test_unrelated_headlines_are_separate_stories() -> None:
    assert ids(headline(STORM), headline(VOTE)) == [-1, -2]


def test_the_same_words_are_one_story_within_two_days() -> None:
    stories = (known(5, STORM),)
    assert ids(headline(STORM_AGAIN), stories=stories) == [5]
    assert ids(headline(STORM_AGAIN, hours=48), stories=stories) == [5]
    assert ids(headline(STORM_AGAIN, hours=-48), stories=stories) == [5]
    assert ids(headline(STORM_AGAIN, hours=49), stories=stories) == [-1]
    assert ids(headline(STORM_AGAIN, hours=-49), stories=stories) == [-1]
    assert ids(headline(VOTE), stories=stories) == [-1]


def test_a_headline_that_is_put_up_again_is_one_story_for_a_week() -> None:
    stories = (known(5, STORM),)
    again = STORM.upper()
    assert ids(headline(again, hours=7 * 24), stories=stories) == [5]
    assert ids(headline(again, hours=7 * 24 + 1), stories=stories) == [-1]
    assert ids(headline("Editorial", hours=72), stories=(known(5, "Editorial"),)) == [-1]


def test_headlines_with_the_same_link_are_always_one_story() -> None:
    stories = (known(5, VOTE, link="https://a.test/1"), known(6, STORM))
    assert ids(
        headline(STORM, link="https://a.test/1?utm_source=x", hours=90), stories=stories
    ) == [5]
    assert ids(headline(STORM, link="https://a.test/2"), stories=stories) == [6]


def test_headlines_of_one_poll_join_each_other() -> None:
    assert ids(headline(STORM), headline(VOTE), headline(STORM_AGAIN)) == [-1, -2, -1]
    link = "https://a.test/1"
    assert ids(headline(STORM, link=link), headline(VOTE, link=link)) == [-1, -1]


def test_a_new_story_is_what_its_first_headline_says() -> None:
    first, second = join_stories([headline(STORM, hours=1), headline(STORM_AGAIN)], ())
    assert first is second
    assert (first.words, first.published) == (words_of(STORM), NOW + timedelta(hours=1))


def test_a_headline_joins_the_first_of_several_matching_stories() -> None:
    stories = (known(9, STORM), known(3, STORM_AGAIN))
    assert ids(headline(STORM_AGAIN), stories=stories) == [9]


def test_headlines_without_significant_words_or_links_are_separate() -> None:
    assert ids(headline("..."), headline("---")) == [-1, -2]
