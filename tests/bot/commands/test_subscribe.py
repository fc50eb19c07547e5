"""/subscribe and /unsubscribe: what a chat is told unasked, shown and changed."""

from datetime import time

import pytest

from bot.commands.subscribe import join_with_and
from bot.i18n.words import words_for
from bot.request import Person, Place
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.subscriptions import Subscriptions
from engine.feeds.feed import ConfiguredFeed
from engine.posting.delivery import PostingMode
from tests.bot.conversing import Bot, bot_on, labels
from tests.bot.prophecies import NOW

TOPIC = Place(platform="test", chat_id="p", private=True, thread="77")


async def test_subscribe_without_options_shows_the_state_and_help(bot: Bot) -> None:
    shown, explained = [await bot.say(text) for text in ("/subscribe", "/subscribe help")]
    assert (shown.text or "").splitlines() == [
        "This chat is told nothing unasked.",
        "/subscribe help explains what can be set.",
    ]
    lines = (explained.text or "").splitlines()
    assert lines[0] == "This chat is told nothing unasked."
    assert "best N: at most so many in a daily post (1 to 10)." in lines
    assert "/subscribe daily 8:30 weekdays mon-fri best 5" in lines
    for reply in (shown, explained):
        assert labels(reply) == ["Every day at 9:00", "At once"]
    assert await Subscriptions(bot.app.database).get(await bot.chat()) is None


async def test_a_chat_subscribes_and_is_told_when_the_next_post_comes(bot: Bot) -> None:
    await bot.set_up(TOPIC, time_zone="Europe/Madrid")
    reply = await bot.say("/subscribe daily 8:30 best 5 must coffee")
    assert (reply.text or "").splitlines() == [
        "Every day at 8:30 (Madrid) I post the best 5 of the news.",
        "No feed is chosen: I post nothing until there is one. /feeds add bbc adds one.",
        "I post what was foretold, asked for or held against others.",
        "Only news with one of these words: coffee.",
        "When nothing was foretold, I say nothing.",
    ]
    await Feeds(bot.app.database).configure_feeds([ConfiguredFeed(url="https://e.org/x")], now=NOW)
    assert "Next post: June 2, 2024, 08:30 (Madrid)." in await bot.told("/subscribe")
    subscription = await bot.subscription()
    assert (subscription.mode, subscription.at, subscription.best, subscription.must) == (
        PostingMode.DAILY,
        time(8, 30),
        5,
        ("coffee",),
    )
    assert subscription.since == NOW
    assert subscription.thread is None


async def test_here_option_posts_to_the_current_thread(bot: Bot) -> None:
    reply = await bot.say("/subscribe instant here", place=TOPIC)
    assert "Posts go to one thread" in (reply.text or "")
    subscription = await bot.subscription()
    assert subscription.thread == "77"
    await bot.say("/subscribe chat", place=TOPIC)
    subscription = await bot.subscription()
    assert (subscription.thread, subscription.mode) == (None, PostingMode.INSTANT)


async def test_buttons_change_one_thing_and_show_the_others(bot: Bot) -> None:
    reply = await bot.say("/subscribe instant must tea")
    offered = [[button.label for button in row] for row in reply.buttons]
    assert offered == [
        ["Every day at 9:00", "Off"],
        ["The best one", "The best 5"],
        ["Only what was foretold", "Asked for too", "Happened before too"],
    ]
    pressed = await bot.press(reply, "subscribe")
    assert (pressed.replaces, pressed.toast) == (True, "Noted.")
    assert (pressed.text or "").startswith("Every day at 9:00 (UTC) I post the best 3")
    subscription = await bot.subscription()
    assert subscription.must == ("tea",)


async def test_subscribe_reports_missing_feeds_and_model(storage: Database) -> None:
    async with bot_on(storage, has_model=False) as bot:
        text = await bot.told("/subscribe daily")
        assert "No feed is chosen: I post nothing until there is one." in text
        assert (
            "Not judged: no language model is set up. So nothing is posted, unless:"
            " /subscribe unjudged on"
        ) in text
        await Feeds(storage).configure_feeds([ConfiguredFeed(url="https://e.org/x")], now=NOW)
        text = await bot.told("/subscribe unjudged on")
        assert "no feed" not in text
        assert "no language model" not in text


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_examples_of_the_help_can_be_typed_in_its_language(
    bot: Bot, language: str
) -> None:
    ana = Person(id="ana", language=language)

    async def answer(text: str) -> str:
        return await bot.told(text, person=ana)

    lines = (await answer("/subscribe help")).splitlines()
    examples = [line for line in lines if line.startswith("/subscribe ")]
    assert len(examples) == 3
    daily = "Every weekday at 8:30" if language == "en" else "De lunes a viernes a las 8:30"
    assert (await answer(examples[0])).startswith(daily)
    english, spanish = "Only news in English, Spanish.", "Solo noticias en inglés, español."
    only = english if language == "en" else spanish
    assert only in await answer(examples[2])
    assert "6" in await answer(examples[1])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["El País", "Infobae"], "El País e Infobae"),
        (["BBC", "El País", "Historia Viva"], "BBC, El País e Historia Viva"),
        (["BBC", "Hielo"], "BBC y Hielo"),
        (["BBC", "El Mundo"], "BBC y El Mundo"),
    ],
)
def test_names_are_joined_as_spanish_does(names: list[str], said: str) -> None:
    assert join_with_and(names, words_for("es")) == said
