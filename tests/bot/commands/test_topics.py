"""Subscriptions of topics, their feeds and silent posts."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.commands.subscription_parser import as_typed
from bot.jobs.content import render_delivery
from bot.jobs.digest import decide_due_posts
from bot.reply import Reply
from db.pool import Database
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.posting.delivery import PostingMode, Subscription
from tests.bot.commands.news import News, news_on
from tests.bot.conversing import GROUP, yes
from tests.bot.prophecies import NOW

DAY = timedelta(days=1)
TOPIC = replace(GROUP, thread="77")
ASIDE = replace(GROUP, thread="78")


@pytest.fixture
async def news(storage: Database) -> AsyncIterator[News]:
    async with news_on(storage) as news:
        yield news


async def wish(news: News, topic: str = "") -> Subscription | None:
    chat = await news.bot.chat(GROUP)
    return await Subscriptions(news.bot.app.database).get(chat, topic)


async def owed(news: News) -> list[tuple[str | None, Reply]]:
    app = news.bot.app
    outbox = Outbox(app.database)
    found = []
    now = NOW + DAY
    while leased := await outbox.lease(["test"], now=now, limit=9, lease=timedelta(minutes=1)):
        for one in leased:
            reply = await render_delivery(app, one.delivery)
            assert reply
            found.append((one.delivery.thread, reply))
            await outbox.begin(one, now=now)
            await outbox.sent(one, "1", now=now)
        now += timedelta(seconds=2)
    return found


async def test_a_topic_has_a_subscription_of_its_own(news: News) -> None:
    say = news.bot.say
    await say("/subscribe daily 8:00", place=GROUP, is_admin=yes)
    reply = await say("/subscribe topic feeds news silent on 10:00", place=TOPIC, is_admin=yes)
    assert (reply.text or "").startswith(
        "In this topic:\nEvery day at 10:00 (UTC) I post the best 3 of news."
    )
    chat, topic = await wish(news), await wish(news, "77")
    assert chat
    assert topic
    assert (chat.topic, chat.thread, chat.silent) == ("", None, False)
    assert (topic.topic, topic.thread, topic.silent) == ("77", "77", True)
    await say("/subscribe best 1", place=TOPIC, is_admin=yes)  # what else is said in it is about it
    assert (topic := await wish(news, "77")) is not None
    assert as_typed(topic).startswith("daily 10:00 best 1")
    await say("/unsubscribe", place=TOPIC, is_admin=yes)
    assert [(await wish(news, one) or chat).mode for one in ("77", "")] == [
        PostingMode.OFF,
        PostingMode.DAILY,
    ]


async def test_stories_go_to_their_topic_and_the_rest_to_the_chat(news: News) -> None:
    for place, text in (
        (TOPIC, "topic feeds nobody 9:00"),
        (ASIDE, "topic must tea silent on 9:00"),
        (GROUP, "9:00 must coffee"),
    ):
        await news.bot.say(f"/subscribe {text}", place=place, is_admin=yes, now=NOW - DAY)
    for story in await news.stories("Coffee prices soar", "Tea prices soar"):
        await news.found(story, 6, text=f"{story.title}, mark my words")
    assert await decide_due_posts(news.bot.app, now=NOW + timedelta(hours=21)) == 2
    assert await decide_due_posts(news.bot.app, now=NOW + timedelta(hours=21)) == 0, (
        "each date is decided once"
    )
    posts = dict(await owed(news))
    assert {thread: reply.silent for thread, reply in posts.items()} == {None: False, "78": True}
    assert [item.headline for item in posts["78"].items] == ["Tea prices soar!"]


async def test_a_post_that_was_owed_with_a_template_is_worded_as_usual(news: News) -> None:
    await news.bot.say("/subscribe 9:00", now=NOW - DAY)
    (story,) = await news.stories("Coffee prices soar")
    await news.found(story, 6, text="Coffee will be dear")
    assert await decide_due_posts(news.bot.app, now=NOW + timedelta(hours=21)) == 1
    async with news.database.connection() as connection:  # as an older version wrote it
        await connection.execute(
            "UPDATE delivery SET"
            " content = content::jsonb || jsonb_build_object('template', '{{ tweet }}')"
        )
    ((_, post),) = await owed(news)
    assert [item.hit.text for item in post.items] == ["Coffee will be dear"]
