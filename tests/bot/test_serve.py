"""What `presagio serve` makes of the settings, and what it keeps."""

import gc

import pytest

from bot.reply import MAX_HITS
from bot.serve import load_what_stays
from tests.fakes.slack import SlackServer
from tests.scenarios.slack.stage import slack_staged
from tests.scenarios.stage import load_tweets


async def test_a_message_shows_no_more_than_it_has_room_for_and_more_shows_the_rest(
    database_url: str,
) -> None:
    words = "alps bank cats dogs eggs fish gold hats iron jazz kiwi lamb mice nuts oaks pigs quiz"
    tweets = tuple(f"Coffee {word} {word[::-1]} {word * 2}" for word in words.split())
    await load_tweets(database_url, tweets)
    async with slack_staged(database_url, SlackServer()) as stage:
        stage.environment["PRESAGIO_SEARCH__LIMIT"] = "50"
        async with stage.serving():
            direct = stage.slack.im(stage.alice)
            await stage.alice.says(direct, "Coffee")
            (answer,) = await stage.replies(1)
            await stage.alice.clicks(answer, "More")
            _, rest = await stage.replies(2)
    shown = [sum(tweet in one.visible for tweet in tweets) for one in (answer, rest)]
    assert shown == [MAX_HITS, len(tweets) - MAX_HITS]


async def test_loaded_objects_are_frozen_for_the_garbage_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.serve._SETTLED_SECONDS", 0)
    loaded = [object()]
    frozen = gc.get_freeze_count()
    await load_what_stays(classifies=True)
    assert gc.get_freeze_count() > frozen
    assert not any(one is loaded for one in gc.get_objects())
