"""/feeds: everybody sees them; admins add, remove, test, import and export them."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from bot.reply import Action, Button, Reply
from db.logs import JobOutcomes, RunOutcome
from db.pool import Database
from db.posting.feeds import Feeds
from engine.errors import FeedUnreadable
from engine.feeds.decide import decide_poll
from engine.feeds.feed import ConfiguredFeed, Feed, FeedFailed
from engine.feeds.lookup import OpmlFeed, read_opml, write_opml
from engine.messages import Message
from engine.settings.fetching import PollingSettings
from tests.bot.commands.news import News, news_on
from tests.bot.prophecies import NOW
from tests.fakes.web import page

PAGE = """<html><head><title>The News</title>
<link rel="alternate" type="application/rss+xml" title="All" href="/feed">
<link rel="alternate" type="application/rss+xml" title="Sport" href="/sport"></head></html>"""


@pytest.fixture
async def news(storage: Database) -> AsyncIterator[News]:
    async with news_on(storage) as news:
        yield news


async def feeds_of(news: News) -> list[Feed]:
    return await Feeds(news.database).of_chat(await news.bot.chat())


async def test_a_feed_is_added_and_listed_with_its_number(news: News) -> None:
    reply = await news.bot.say(f"/feeds add {news.feed}  world   news ")
    assert reply.text == (
        "The Lighthouse (world news) was added. What it brings from now on counts as news."
        " /subscribe daily 9:00 lets me post what was foretold."
    )
    (feed,) = await feeds_of(news)
    assert (feed.url, feed.category) == (news.feed, "world news")
    assert (await news.bot.say("/feeds list")).text.splitlines()[:4] == [  # type: ignore[union-attr]  # it has text
        "Feeds of this chat:",
        f"{feed.id}. The Lighthouse (world news)",
        f"   {news.feed}",
        "   It has not been read yet.",
    ]


async def test_forged_feed_button_is_refused(news: News) -> None:
    """Whoever sends the numbers of other chats' feeds learns and gets nothing."""
    news.web.pages["/"] = page(PAGE)
    offer = await news.bot.say(f"/feeds add {news.web.url('/')}")
    good = offer.buttons[0][0].action.value
    number, digest = good.split(".")
    for value in (
        f"{number}.{'0' * 16}",
        f"999.{digest}",
        number,
        "",
        "x.y",
        f"{'9' * 30}.{digest}",
    ):
        forged = Reply(
            words=offer.words,
            buttons=((Button(label="x", action=Action(name="feed", value=value)),),),
        )
        assert (await news.bot.press(forged, "feed")).toast == "This button is too old."
    assert await feeds_of(news) == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/nowhere", "127.0.0.1 has no such page (404). Check the address of the feed."),
        ("/page", "This is a web page, not a feed. Give the address of its feed."),
    ],
)
async def test_address_without_a_feed_is_refused(news: News, path: str, said: str) -> None:
    news.web.pages["/page"] = page("<html><title>x</title></html>")
    for verb in ("add", "test"):
        assert (await news.bot.say(f"/feeds {verb} {news.web.url(path)}")).text == said
    assert await feeds_of(news) == []


async def test_feed_limit_of_a_chat_is_enforced(storage: Database) -> None:
    async with news_on(storage, feeds_per_chat=1) as news:
        news.web.pages["/other"] = news.web.pages["/feed"]
        await Feeds(storage).configure_feeds([ConfiguredFeed(url="https://e.org/x")], now=NOW)
        await news.bot.say(f"/feeds add {news.feed}")
        reply = await news.bot.say(f"/feeds add {news.web.url('/other')}")
        assert reply.text == (
            "A chat may add 1 feeds, and this one has. /feeds remove NUMBER makes room."
        )
        assert "(tech)" in await news.bot.told(f"/feeds add {news.feed} tech")
        assert len(await feeds_of(news)) == 2


async def test_a_feed_is_tried_without_being_added(news: News) -> None:
    reply = await news.bot.say(f"/feeds test {news.feed}")
    assert (reply.text or "").splitlines() == [
        "The Lighthouse can be read and holds 2 entries.",
        news.feed,
        "- The port is closed",
        "- The port is open",
    ]
    news.web.pages["/"] = page(PAGE)
    several = await news.bot.say(f"/feeds test {news.web.url('/')}")
    assert (several.text or "").startswith("This page names several feeds:")
    assert await feeds_of(news) == []


async def test_a_list_is_imported_and_exported(news: News) -> None:
    urls = [f"https://e.org/{number}" for number in range(3)]
    listed = write_opml([OpmlFeed(url=url, category="tech") for url in urls], title="x")
    news.web.pages["/feeds.opml"] = page(listed, "text/x-opml")
    reply = await news.bot.say(f"/feeds import {news.web.url('/feeds.opml')}")
    assert reply.text == "3 feeds were added."
    pasted = await news.bot.say(f"/feeds import {listed.decode()}")
    assert pasted.text == "0 feeds were added. 3 were there."
    exported = await news.bot.say("/feeds export")
    found = read_opml((exported.text or "").encode())
    assert [(feed.url, feed.category) for feed in found] == [(url, "tech") for url in urls]


async def test_secrets_in_configured_feed_urls_are_hidden_from_chats(news: News) -> None:
    secret, plain = "https://me:s3cret@e.org/feed?token=s3cret", "https://e.org/open"
    await Feeds(news.database).configure_feeds(
        [ConfiguredFeed(url=secret), ConfiguredFeed(url=plain)], now=NOW
    )
    own = "https://own.org/?token=mine"
    await Feeds(news.database).add(await news.bot.chat(), own, now=NOW)
    listed = await news.bot.told("/feeds")
    assert "https://e.org/feed?token=… · for everybody" in listed
    exported = await news.bot.told("/feeds export")
    assert {feed.url for feed in read_opml(exported.encode())} == {plain, own}
    assert "s3cret" not in listed + exported


async def test_import_stops_at_the_feed_limit(storage: Database) -> None:
    async with news_on(storage, feeds_per_chat=2) as news:
        feeds = [OpmlFeed(url=f"https://e.org/{number}") for number in range(5)]
        reply = await news.bot.say(f"/feeds import {write_opml(feeds, title='x').decode()}")
        assert reply.text == "2 feeds were added. 3 were left out: a chat may add 2 feeds."
        assert len(await feeds_of(news)) == 2


async def test_a_feed_is_removed_by_its_number_once(news: News) -> None:
    await news.bot.say(f"/feeds add {news.feed}")
    assert await news.bot.told("/feeds remove 1") == "The feed was removed."
    assert (await news.bot.told("/feeds remove 1")).startswith("This chat has no such feed;")


async def test_failing_feeds_are_shown_and_no_jobs(news: News) -> None:
    await news.bot.say(f"/feeds add {news.feed}")
    (feed,) = await Feeds(news.database).claim_due(now=NOW, limit=1, lease=timedelta(minutes=1))
    failed = FeedFailed(error=FeedUnreadable(Message("The feed is damaged beyond reading.")))
    decision = decide_poll(feed, failed, now=NOW, settings=PollingSettings(), jitter=0)
    await Feeds(news.database).settle(feed, decision, now=NOW)
    outcomes = JobOutcomes(news.database)
    for outcome in (RunOutcome.DONE, RunOutcome.FAILED, RunOutcome.MISSED, RunOutcome.MISSED):
        await outcomes.count("poll", outcome, now=NOW)
    await news.bot.set_up(news.bot.adapter.delivered[0][0].place, language="es")
    text = await news.bot.told("/feeds")
    assert "Falla desde 2024-06-01 12:00. La fuente está demasiado dañada para leerla." in text
    assert "poll" not in text


async def test_a_feed_that_is_gone_is_no_source_of_posts(news: News) -> None:
    for path in ("/feed", "/other"):
        news.web.pages[path] = news.web.pages["/feed"]
        await news.bot.say(f"/feeds add {news.web.url(path)}")
    first, second = await feeds_of(news)
    async with news.database.connection() as connection:
        await connection.execute("UPDATE feed SET title = 'Past' WHERE id = $1", first.id)
        await connection.execute("UPDATE feed SET title = 'Present' WHERE id = $1", second.id)
        await connection.execute("UPDATE feed SET gone = true WHERE id = $1", first.id)
        text = await news.bot.told("/subscribe daily 9:00")
        assert "of Present" in text
        assert "Past" not in text
        await connection.execute("UPDATE feed SET gone = true")
    assert "No feed of this chat exists any more;" in await news.bot.told("/subscribe")
