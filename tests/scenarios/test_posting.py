"""From the bytes of a feed to the message in a chat: once, whatever fails in between."""

import asyncio
import os
from collections.abc import AsyncIterator
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bot.adapter import Poster
from bot.app import open_app
from bot.card import Card
from bot.reply import Reply
from bot.serve import serve
from bot.settings import load_settings
from db.chat.answers import Answers
from db.chat.chats import Access, Chats
from db.logs import RunOutcome
from db.model_cache import Ledger, WebPages
from db.posting.subscriptions import Subscriptions
from engine.budget import BudgetSource
from engine.chat import BotOwner, Chat, PostPicture
from engine.errors import StorageError
from engine.extras import how_to_install
from engine.messages import message_from_json
from engine.posting.delivery import PostingMode, Subscription
from engine.web.results import FetchedPage
from tests.ages import read_years
from tests.database import fetch_rows, fetch_value, run_sql
from tests.fakes.model import failure, scoring
from tests.fakes.slack import Fault
from tests.fakes.telegram import Chat as TelegramChat
from tests.fakes.web import Asked, reply
from tests.fakes.writer import JudgeAndWriter
from tests.patience import PATIENCE, until
from tests.scenarios.newsroom import FEED, HOUR, MINUTE, Newsroom, Process, newsroom
from tests.scenarios.stage import HEADLINE, TWEETS, judged_by_words

PLATFORMS = ["telegram", "slack"]
# Its chat is the first one here.
NOTHING_BEGINS_ON_TELEGRAM = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$;
CREATE TRIGGER refuses BEFORE UPDATE OF begun_at ON delivery FOR EACH ROW
    WHEN (new.begun_at IS NOT NULL AND new.chat_id = 1) EXECUTE FUNCTION refuse();
"""
DULL = "Parliament debates the harbour extension once more"


@pytest.fixture
async def room(coffee_url: str) -> AsyncIterator[Newsroom]:
    async with newsroom(coffee_url) as room:
        yield room


@pytest.fixture
async def process(room: Newsroom) -> Process:
    return await room.process()


def shown(message: object) -> str:
    """What a person reads in a message of either stand-in."""
    return str(getattr(message, "visible", None) or getattr(message, "text", ""))


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_an_instant_find_is_posted_at_once(
    room: Newsroom, process: Process, platform: str
) -> None:
    await room.subscribe(process, platform)
    await room.news(process, HEADLINE, DULL)
    assert await process.jobs.digest() == 1
    await room.deliver(process)
    (message,) = room.said(platform)
    assert HEADLINE in shown(message)
    assert TWEETS[0] in shown(message)
    assert read_years(shown(message))
    assert "not judged" not in shown(message).lower()
    assert "https://news.example/2" in str(message.links)
    labels = str(message.buttons)
    assert all(label in labels for label in ("Why?", "Picture", "👍", "👎"))
    assert room.model.calls == 1, "no tweet has a word of the dull story"
    spent = await Ledger(process.app.database).spent(room.clock().date())
    assert set(spent) == {BudgetSource.POSTS}
    room.clock.wind(26 * HOUR)
    assert await process.jobs.digest() == 0
    assert await process.jobs.deliver() == 0


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_daily_post_holds_the_best_of_the_day(
    room: Newsroom, process: Process, platform: str
) -> None:
    """A post of two stories, at the hour of the chat, once."""
    await room.subscribe(process, platform, **room.daily(3))
    other = "Record coffee harvest, record prices, growers say"
    await room.news(process, HEADLINE, other, DULL)
    assert await process.jobs.digest() == 0
    room.clock.wind(3 * HOUR)
    assert await process.jobs.digest() == 1
    assert await process.jobs.digest() == 0
    await room.deliver(process)
    (message,) = room.said(platform)
    assert shown(message).index(other) < shown(message).index(HEADLINE)
    assert TWEETS[2] in shown(message)
    assert "foretold:" in shown(message)
    pages = await fetch_rows(process.app.database, "SELECT first, last FROM answer ORDER BY id")
    assert [tuple(page) for page in pages] == [(0, 1), (0, 1)], "each of them can be asked why"


async def test_what_is_old_is_deleted(room: Newsroom, process: Process) -> None:
    await room.subscribe(process, "telegram")
    await room.news(process, HEADLINE)
    assert await process.jobs.digest() == 1
    await room.deliver(process)
    now, database = room.clock(), process.app.database
    await process.jobs.outcomes.count("poll", RunOutcome.DONE, now=now)
    page = FetchedPage(url="https://news.example/9", title=None, text="x", fetched_at=now)
    await WebPages(database).put(page.url, page)
    tables = ("find", "story", "delivery", "posted", "web_cache")
    count = " + ".join(f"(SELECT sign(count(*)) FROM {table})" for table in tables)

    async def list_left() -> tuple[object, int, int]:
        outcomes = await process.jobs.outcomes.summary(now)
        news = await process.app.corpora.get("news")
        return await fetch_value(database, f"SELECT {count}"), len(outcomes), news.documents

    assert await list_left() == (len(tables), 1, 2)
    room.clock.wind(800 * 24 * HOUR)
    await process.jobs.tidy()
    assert await list_left() == (0, 0, 0)


async def test_a_day_with_nothing_is_silent_unless_the_chat_wants_to_know(
    room: Newsroom, process: Process
) -> None:
    await room.subscribe(process, "telegram", **room.daily(3))
    await room.subscribe(process, "slack", **room.daily(3), say_nothing_found=True)
    await room.news(process, "Tea prices will rise")  # judged 4 of 6
    room.clock.wind(2 * HOUR)
    assert await process.jobs.digest() == 1
    await room.deliver(process)
    assert room.said("telegram") == []
    (message,) = room.said("slack")
    assert "No old tweet foretold the news since" in shown(message)


@pytest.mark.parametrize("why", ["away", "budget spent", "none set up"])
async def test_days_of_which_nothing_was_judged_are_told_once_and_taken_up(
    coffee_url: str, why: str
) -> None:
    limit = "0" if why == "budget spent" else "-1"
    async with newsroom(coffee_url, PRESAGIO_LLM__DAILY_TOKENS=limit) as room:
        judge, room.model.script = room.model.script, [failure(503)]
        if why == "none set up":
            del room.environ["PRESAGIO_LLM__BASE_URL"]
        process = await room.process()
        await room.subscribe(process, "telegram", **room.daily(6), say_nothing_found=True)
        await process.jobs.poll()
        for headline in ("Tea prices will rise", "They raise the taxes again", HEADLINE):
            room.clock.wind(HOUR)
            room.publish(headline)
            await process.jobs.poll()
            await process.jobs.search()
            room.clock.wind(4 * HOUR)  # longer than the model is waited for
            await process.jobs.search()
            room.clock.wind(HOUR)
            await process.jobs.digest()
            await room.deliver(process)
            room.clock.wind(18 * HOUR)
        (told,) = room.said("telegram")
        assert "was not judged: no language model answered." in shown(told)
        if why == "away":
            room.model.script = judge
            process = await room.process()  # one that has not seen the model fail
            await process.jobs.search()
            room.clock.wind(6 * HOUR)
            assert await process.jobs.digest() == 1
            await room.deliver(process)
            assert HEADLINE in shown(room.said("telegram")[-1])
            assert "Tea prices" not in shown(room.said("telegram")[-1])


async def test_stories_are_judged_by_promise_as_the_hours_bring_budget(coffee_url: str) -> None:
    """A call costs 7,120 tokens: of 34,000 a day the first is more than what belongs to the hours
    until five in the morning, and four begin before it has been counted."""
    async with newsroom(coffee_url, PRESAGIO_LLM__DAILY_TOKENS="34000") as room:
        room.clock.time = (room.clock() + timedelta(days=1)).replace(hour=3, minute=0)
        process = await room.process()
        await room.subscribe(process, "telegram")
        weak = [f"Coffee {word} in the {word}" for word in ("wedding", "theatre", "museum")]
        await room.news(process, *weak, HEADLINE, "Record harvest brings high prices")
        assert room.model.calls == 4
        asked = str([request.body for request in room.model.requests])
        assert HEADLINE in asked
        assert "Record harvest brings high prices" in asked

        room.clock.wind(MINUTE)
        assert await process.jobs.search() == 0, "the rest waits"
        room.clock.wind(4 * HOUR)
        await process.jobs.search()
        states = await fetch_rows(process.app.database, "SELECT state FROM find ORDER BY state")
        # The three weak ones promise the same: any of them may be the one that is left.
        assert [row["state"] for row in states] == ["judged"] * 4 + ["promising"]


async def test_a_private_chat_without_a_permitted_model_does_not_wait_for_judging(
    coffee_url: str,
) -> None:
    async with newsroom(coffee_url, PRESAGIO_LLM__BASE_URL="http://models.invalid/v1") as room:
        room.environ["PRESAGIO_CHAT__PRIVATE"] = f'["telegram:{room.group.id}"]'
        process = await room.process()
        async with process.app.database.connection() as connection:
            await connection.execute("UPDATE corpus SET kind = 'personal' WHERE name = 'demo'")
        chat = await room.chat(process, "telegram")
        await Chats(process.app.database).change(replace(chat, corpus="demo"))
        await room.subscribe(process, "telegram", unjudged=True, unjudged_coverage=0.3)
        await room.news(process)
        found = await fetch_rows(
            process.app.database, "SELECT state, prophecy FROM find WHERE prophecy NOTNULL"
        )
        assert [row["state"] for row in found] == ["unjudged"]
        assert "Private text is not sent" in found[0]["prophecy"]
        assert await process.jobs.digest() == 1
        await room.deliver(process)
        (message,) = room.said("telegram")
        assert "not judged" in shown(message)


async def test_the_picture_follows_its_post(room: Newsroom, process: Process) -> None:
    chats = Chats(process.app.database)
    for platform in PLATFORMS:
        await room.subscribe(process, platform)
        await chats.change(replace(await room.chat(process, platform), picture=PostPicture.ON))
    await room.news(process)
    assert await process.jobs.digest() == 2
    await room.deliver(process)
    post, picture = room.said("telegram")
    assert (post.photo is None, picture.photo is None) == (True, False)
    answers, chat = Answers(process.app.database), await room.chat(process, "telegram")
    shown = await answers.about(chat, str(picture.id), "", now=room.clock())
    assert shown, "a reply to the picture is about its story"
    assert shown == await answers.about(chat, str(post.id), "", now=room.clock())
    post, picture = room.said("slack")
    kinds = [{block["type"] for block in message.blocks} for message in (post, picture)]
    assert ["image" in kind for kind in kinds] == [False, True]


@pytest.mark.parametrize("drawn", [True, False])
async def test_a_picture_post_falls_back_to_text(
    room: Newsroom, process: Process, monkeypatch: pytest.MonkeyPatch, drawn: bool
) -> None:
    chats = Chats(process.app.database)
    for platform in PLATFORMS:
        await room.subscribe(process, platform, silent=True)
        chat = await room.chat(process, platform)
        await chats.change(replace(chat, picture=PostPicture.POST))
    await room.news(process)
    assert await process.jobs.digest() == 2
    if not drawn:
        monkeypatch.setattr("bot.card.draw_card", die)
    await room.deliver(process)
    (post,) = room.said("telegram")
    assert (post.photo is not None) is drawn
    assert HEADLINE in post.text
    assert post.silent
    assert post.buttons
    (post,) = room.said("slack")
    assert ("image" in {block["type"] for block in post.blocks}) is drawn
    assert HEADLINE in post.visible
    assert "actions" in {block["type"] for block in post.blocks}


async def test_a_picture_that_cannot_be_drawn_is_given_up_with_the_reason(
    coffee_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.card.find_spec", lambda _: None)
    async with newsroom(coffee_url) as room:
        process = await room.process()
        await room.subscribe(process, "telegram")
        chat = await room.chat(process, "telegram")
        await Chats(process.app.database).change(replace(chat, picture=PostPicture.ON))
        await room.news(process)
        assert await process.jobs.digest() == 1
        await room.deliver(process)
        (post,) = room.said("telegram")
        assert post.photo is None
        async with process.app.database.connection() as connection:
            why = await connection.fetchval("SELECT error FROM delivery WHERE state = 'failed'")
        assert how_to_install("pictures") in message_from_json(why)


# What goes wrong


async def owed(room: Newsroom, platform: str) -> Process:
    """A process with one post to deliver."""
    process = await room.process()
    await room.subscribe(process, platform)
    await room.news(process)
    assert await process.jobs.digest() == 1
    return process


async def states(process: Process) -> list[tuple[str, int]]:
    async with process.app.database.connection() as connection:
        rows = await connection.fetch("SELECT state, attempts FROM delivery ORDER BY id")
    return [(row["state"], row["attempts"]) for row in rows]


@pytest.mark.parametrize(("platform", "copies"), [("telegram", 2), ("slack", 1)])
async def test_a_lost_answer_loses_no_post(room: Newsroom, platform: str, copies: int) -> None:
    """Slack is asked whether it arrived; Telegram cannot be, and is told again."""
    process = await owed(room, platform)
    room.telegram.fail("sendMessage", error="drop_connection_after_processing")
    room.slack.fail("chat.postMessage", Fault(drop_after=True))
    assert await process.jobs.deliver() == 1
    assert await process.jobs.deliver() == 0, "not before it is surely shown"
    room.clock.wind(MINUTE)
    await room.deliver(process)
    assert len(room.said(platform)) == copies
    assert await states(process) == [("sent", 2)]


@pytest.mark.parametrize(("platform", "copies"), [("telegram", 2), ("slack", 1)])
async def test_a_death_between_sending_and_settling_loses_no_post(
    room: Newsroom, platform: str, copies: int
) -> None:
    process = await owed(room, platform)
    dying = copy(process.jobs.sender)
    dying.posters = {poster.platform: _Dies(poster) for poster in process.posters}
    with pytest.raises(asyncio.CancelledError):
        await dying.run(clock=process.jobs.now)
    assert len(room.said(platform)) == 1
    assert await process.jobs.deliver() == 0, "the lease of the dead is not over"
    room.clock.wind(5 * MINUTE)
    await room.deliver(process)
    assert len(room.said(platform)) == copies
    assert await states(process) == [("sent", 2)]


class _Dies:
    """A poster whose process dies as soon as the message is shown."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster
        self.platform = poster.platform

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:
        await self._poster.post(chat, thread, reply, key=key)
        raise asyncio.CancelledError

    async def find_posted(
        self, chat: Chat, thread: str | None, key: str, since: datetime
    ) -> str | None:
        return await self._poster.find_posted(chat, thread, key, since)

    async def close(self) -> None:
        await self._poster.close()


async def test_a_slack_post_is_not_repeated_while_its_arrival_cannot_be_checked(
    room: Newsroom,
) -> None:
    process = await owed(room, "slack")
    room.slack.fail("chat.postMessage", Fault(drop_after=True))
    room.slack.fail("conversations.history", Fault(error="ratelimited", retry_after=600))
    await process.jobs.deliver()
    room.clock.wind(MINUTE)
    assert await process.jobs.deliver() == 1
    room.clock.wind(9 * MINUTE)
    assert await process.jobs.deliver() == 0, "Slack asked for ten minutes"
    room.clock.wind(2 * MINUTE)
    await room.deliver(process)
    assert len(room.said("slack")) == 1
    assert (await states(process))[0][0] == "sent"


async def test_a_chat_that_has_to_wait_keeps_no_other_waiting(
    room: Newsroom, process: Process
) -> None:
    others = await subscribe_groups(room, process, 2)
    await owe_news(room, process)
    room.telegram.fail("sendMessage", error=429, retry_after=600, chat=room.group)
    await room.deliver(process)
    assert [len(group.bot_messages) for group in (room.group, *others)] == [0, 1, 1]
    room.clock.wind(10 * MINUTE)
    await room.deliver(process)
    assert len(room.group.bot_messages) == 1


async def test_all_chats_pause_when_two_are_rate_limited(room: Newsroom, process: Process) -> None:
    groups = [room.group, *await subscribe_groups(room, process, 29)]
    await owe_news(room, process)
    room.telegram.fail("sendMessage", error=429, retry_after=600, times=20)
    tried = await process.jobs.deliver()
    assert 20 <= tried < 25, "as many as are sent at once, and what the first refusal let in"
    room.clock.wind(9 * MINUTE)
    assert await process.jobs.deliver() == 0
    assert len(room.telegram.called("sendMessage")) == tried
    room.clock.wind(3 * MINUTE)
    await room.deliver(process)
    assert [len(group.bot_messages) for group in groups] == [1] * 30


async def subscribe_groups(room: Newsroom, process: Process, number: int) -> list[TelegramChat]:
    """Let the room's group and further ones be told of news at once; return those."""
    await room.subscribe(process, "telegram")
    groups = [room.telegram.group(f"Group {n}", admins=[]) for n in range(number)]
    database = process.app.database
    chats, subscriptions = Chats(database), Subscriptions(database)
    for group in groups:
        chat = await chats.meet("telegram", str(group.id), private=False, title="Group")
        wanted = Subscription(chat=chat, mode=PostingMode.INSTANT)
        await subscriptions.set(wanted, now=room.clock())
    return groups


async def owe_news(room: Newsroom, process: Process) -> None:
    """Let the feed bring news, and owe them to whoever wants them."""
    await room.news(process)
    assert await process.jobs.digest()


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_departed_chat_gets_no_further_posts(room: Newsroom, platform: str) -> None:
    process = await owed(room, platform)
    room.telegram.fail("sendMessage", error=403)
    room.slack.fail("chat.postMessage", Fault(error="is_archived"))
    await room.deliver(process)
    assert await states(process) == [("failed", 1)]
    assert await Subscriptions(process.app.database).active() == []
    await room.news(process, "Coffee prices hit a record high again")
    assert await process.jobs.digest() == 0


async def test_an_unreadable_delivery_is_given_up_and_delays_nothing(room: Newsroom) -> None:
    process = await owed(room, "telegram")
    await run_sql(process.app.database, """UPDATE delivery SET content = '{"kind": "song"}'""")
    await room.news(process, "Coffee prices hit a record high, said nobody else before")
    await process.jobs.digest()
    await room.deliver(process)
    assert (await states(process))[0] == ("failed", 0)


async def test_a_platform_that_does_not_answer_delays_no_other(
    room: Newsroom, process: Process
) -> None:
    await room.subscribe(process, "slack")
    await room.news(process)
    assert await process.jobs.digest() == 1
    room.slack.fail("chat.postMessage", Fault(hang=True))
    delivering = asyncio.create_task(process.jobs.deliver())
    await room.slack.until(lambda: room.slack.calls_of("chat.postMessage"))
    await room.subscribe(process, "telegram")
    assert await process.jobs.digest() == 1
    sent = "SELECT FROM delivery WHERE state = 'sent'"
    await until(lambda: fetch_rows(process.app.database, sent))
    assert not delivering.done()
    delivering.cancel()
    await asyncio.gather(delivering, return_exceptions=True)
    room.clock.wind(5 * MINUTE)
    await room.deliver(process)
    assert [len(room.said(platform)) for platform in PLATFORMS] == [1, 1]


async def test_a_delivery_being_sent_is_settled_despite_a_database_error_elsewhere(
    room: Newsroom, process: Process
) -> None:
    for platform in PLATFORMS:
        await room.subscribe(process, platform)
    await room.news(process)
    assert await process.jobs.digest() == 2
    await run_sql(process.app.database, NOTHING_BEGINS_ON_TELEGRAM)
    room.slack.fail("chat.postMessage", Fault(delay=0.5))
    with pytest.raises(StorageError):
        await process.jobs.deliver()
    assert sorted(await states(process)) == [("owed", 0), ("sent", 1)]
    assert len(room.said("slack")) == 1


async def poll_for_hours(room: Newsroom, process: Process, hours: int) -> None:
    for _ in range(hours):
        room.clock.wind(HOUR)
        await process.jobs.poll()
        await room.deliver(process)


async def test_the_owner_is_notified_of_a_failing_feed_instead_of_the_group(
    room: Newsroom, process: Process
) -> None:
    database, olga, now = process.app.database, room.telegram.user("Olga"), room.clock()
    home = room.telegram.private_chat(olga)
    await Chats(database).meet("telegram", str(home.id), private=True, title=None)
    access = Access(database)
    owner = BotOwner(platform="telegram", person=str(olga.id), chat=str(home.id))
    code = await access.code("telegram", "C", now=now, fresh_since=now)
    assert await access.claim(owner, code, now=now, made_since=now - timedelta(days=1))
    await room.subscribe(process, "telegram")
    await process.jobs.poll()
    room.web.pages[FEED] = reply(503, "down")
    await poll_for_hours(room, process, 60)
    assert room.said("telegram") == []
    (notice,) = home.bot_messages
    assert "The feed The Paper has failed since" in notice.text
    assert "503" in notice.text


async def test_followers_are_notified_once_when_a_feed_fails_and_recovers(
    room: Newsroom, process: Process
) -> None:
    await room.subscribe(process, "telegram")
    await process.jobs.poll()
    good = room.web.pages[FEED]
    room.web.pages[FEED] = reply(503, "down")
    await poll_for_hours(room, process, 60)
    assert len(room.said("telegram")) == 1
    assert "The feed The Paper has failed since" in shown(room.said("telegram")[0])
    assert "503" not in shown(room.said("telegram")[0]), "details are for operators"
    room.web.pages[FEED] = good
    await poll_for_hours(room, process, 30)
    assert len(room.said("telegram")) == 2
    assert "The feed The Paper can be read again." in shown(room.said("telegram")[1])


async def test_a_feed_that_has_not_changed_is_not_sent_again(
    room: Newsroom, process: Process
) -> None:
    items = "<item><guid>1</guid><title>The village has elected a mayor</title></item>"
    small = f'<rss version="2.0"><channel><title>The Paper</title>{items}</channel></rss>'
    changed = reply(200, small, {"ETag": '"1"'})
    tags: list[str | None] = []

    async def tagged(asked: Asked, writer: asyncio.StreamWriter) -> None:
        tags.append(asked.headers.get("if-none-match"))
        await (reply(304) if tags[-1] == '"1"' else changed)(asked, writer)

    room.web.pages[FEED] = tagged
    await process.jobs.poll()
    room.clock.wind(HOUR)
    await process.jobs.poll()
    assert tags == [None, '"1"']
    (health,) = await process.jobs.poller.feeds.health(now=room.clock())
    assert (health.feed.failures, health.feed.title) == (0, "The Paper")
    assert health.feed.succeeded_at == room.clock()


# The whole program


async def test_a_serving_bot_delivers_queued_posts_and_counts_votes_on_them(
    room: Newsroom, process: Process
) -> None:
    """A post of two stories, on each of which its readers vote by itself."""
    await room.subscribe(process, "telegram", **room.daily(3))
    other = "Record coffee harvest, record prices, growers say"
    await room.news(process, HEADLINE, other)
    room.clock.wind(3 * HOUR)
    assert await process.jobs.digest() == 1
    environ = {name: room.environ[name] for name in room.environ.keys() - room.slack.environ}
    said: list[str] = []

    async def run() -> None:
        async with open_app(load_settings(environ=environ), progress=said.append) as app:
            await serve(app, now=room.clock, tell=said.append)

    serving = asyncio.create_task(run())
    try:
        message = await room.group.until(lambda one: one.from_bot)
        reader = room.telegram.user("Carol")
        room.group.members[reader.id] = "member"
        own = message.labels
        rest = ["Why?", "Picture", "Write about it"]
        assert own == ["👍", "👎", "2 👍", "2 👎", *rest]
        await reader.presses(message, "2 👍")
        await room.telegram.until_called("editMessageReplyMarkup")
        assert message.labels == ["👍", "👎", "2 👍 1", "2 👎", *rest]
        known = len(room.group.bot_messages)
        await reader.presses(message, "Why?")
        why = await room.group.until(lambda one: one.from_bot and one is not message)
        assert len(room.group.bot_messages) == known + 1
        assert all(story in why.text for story in (HEADLINE, other))
    finally:
        serving.cancel()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(serving, return_exceptions=True)
    outcomes = await process.jobs.outcomes.summary(room.clock() - HOUR)
    assert {"poll", "search", "digest", "deliver", "tidy", "embed", "reindex"} >= {
        outcome.job for outcome in outcomes
    }
    assert ("deliver", RunOutcome.DONE) in {(outcome.job, outcome.outcome) for outcome in outcomes}
    assert said == [], "an open bot needs no owner"


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_daily_post_brings_a_draft_once(room: Newsroom, platform: str) -> None:
    model = JudgeAndWriter(scoring(judged_by_words))
    room.model.script = [model]
    process = await room.process()
    await room.subscribe(process, platform, **room.daily(3), compose=True)
    await room.news(process, HEADLINE)
    room.clock.wind(3 * HOUR + MINUTE)
    assert await process.jobs.digest() == 1
    await room.deliver(process)
    room.clock.wind(MINUTE)
    await room.deliver(process)
    post, draft = (shown(message) for message in room.said(platform))
    assert HEADLINE in post
    assert "A draft about the first story, to copy." in draft
    assert "[1]" in draft
    assert TWEETS[0] in model.writer.asked["evidence"][0].prompt
    ledger, written_at = Ledger(process.app.database), room.clock() - MINUTE
    spent = [await ledger.spent(day.date()) for day in (written_at, room.clock())]
    assert {one for day in spent for one in day} == {BudgetSource.POSTS}
    await room.deliver(process)
    assert (len(room.said(platform)), model.writer.calls.count("draft")) == (2, 1)


async def test_a_draft_that_fails_does_not_hold_up_its_post(
    room: Newsroom, process: Process
) -> None:
    await room.subscribe(process, "telegram", **room.daily(3), compose=True)
    await room.news(process, HEADLINE)
    room.clock.wind(3 * HOUR + MINUTE)
    await process.jobs.digest()
    room.model.script = [failure(503)]
    await room.deliver(process)
    room.clock.wind(MINUTE)
    await room.deliver(process)
    (post,) = room.said("telegram")
    assert HEADLINE in shown(post)


def die(card: Card) -> bytes:
    """Take the process along that draws."""
    os._exit(len(card.avatar) or 1)
