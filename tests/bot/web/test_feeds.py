"""The feeds of what was posted, as feed readers read them."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import feedparser
import pytest

from bot.web.feeds import PostedEntry, PostedFeed, render_atom, render_json_feed
from db.pool import Database
from db.posting.outbox import Outbox
from engine.feeds.read import read_json_feed
from engine.posting.delivery import Chosen, PostingMode
from engine.values import Kind
from tests.ages import say_years
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import ADDRESS, WebStage, web_stage
from tests.db.news import MINUTE, NOW, configured, decide_instant, some_chosen, subscribed

FEED = "application/atom+xml"


@pytest.fixture
async def web(database_url: str) -> AsyncIterator[WebStage]:
    async with web_stage({"DATABASE_URL": database_url}) as stage:
        yield stage


async def posted(database: Database, number: int) -> Sequence[Chosen]:
    """Post so many finds in two chats, a minute apart, and owe another one."""
    everything = await some_chosen(database, number + 1)
    outbox = Outbox(database)
    for chat in ("1", "2"):
        subscription = await subscribed(database, chat, PostingMode.INSTANT)
        for minute, chosen in enumerate(everything):
            now = NOW + minute * MINUTE
            assert await decide_instant(outbox, subscription, chosen, content="{}", now=now)
            if minute < number:
                (leased,) = await outbox.lease(["test"], now=now, limit=1, lease=MINUTE)
                assert await outbox.begin(leased, now=now)
                assert await outbox.sent(leased, "m1", now=now)
    return everything[:number]


async def filled(database: Database, chosen: Sequence[Chosen], kind: Kind = Kind.TWEETS) -> None:
    texts = [
        text_of(one.hit.candidate.external_id, f"I said so <{one.find.story.id}>", days_ago=4000)
        for one in chosen
    ]
    await fill(database, "demo", kind, texts)


async def test_it_holds_what_was_sent_once_and_newest_first(web: WebStage) -> None:
    chosen = await posted(web.app.database, 2)
    await filled(web.app.database, chosen)
    answered = await web.get("/feed.xml")
    assert answered.headers["content-type"] == FEED
    read = feedparser.parse(answered.content)
    assert not read.bozo
    assert read.feed.title == "Presagio"
    assert [entry.title for entry in read.entries] == [
        f"{one.find.story.text}!" for one in reversed(chosen)
    ]
    newest = read.entries[0]
    assert f"“I said so <{chosen[-1].find.story.id}>”" in newest.content[0].value
    assert say_years(10) in newest.content[0].value
    assert datetime.fromisoformat(newest.updated) == NOW + MINUTE
    assert newest.link.startswith(f"{ADDRESS}/prophecy?headline=number1")
    assert (await web.get(newest.link.removeprefix(ADDRESS))).status_code == 200


async def test_both_forms_say_the_same(web: WebStage) -> None:
    chosen = await posted(web.app.database, 2)
    await filled(web.app.database, chosen)
    atoms = feedparser.parse((await web.get("/feed.xml")).content).entries
    answered = await web.get("/feed.json", lang="es")
    assert answered.headers["content-type"] == "application/feed+json"
    told = answered.json()
    assert (told["version"], told["language"]) == ("https://jsonfeed.org/version/1.1", "es")
    assert [item["id"] for item in told["items"]] == [entry.id for entry in atoms]
    assert say_years(10, "es") in told["items"][0]["content_text"]
    read = read_json_feed(answered.text, f"{ADDRESS}/feed.json")
    assert [entry.title for entry in read.entries] == [entry.title for entry in atoms]


async def test_a_text_that_was_removed_is_not_shown(web: WebStage) -> None:
    chosen = await posted(web.app.database, 2)
    await filled(web.app.database, chosen[:1])
    told = await web.json("/feed.json")
    assert [item["title"] for item in told["items"]] == [f"{chosen[0].find.story.text}!"]


async def test_only_corpora_that_are_shown_are_in_it(web: WebStage) -> None:
    await filled(web.app.database, await posted(web.app.database, 1), Kind.PERSONAL)
    assert (await web.json("/feed.json"))["items"] == []
    hidden = await web.get("/feed.xml", corpus="demo")
    assert hidden.status_code == 404


async def test_a_corpus_may_be_asked_for(web: WebStage) -> None:
    await filled(web.app.database, await posted(web.app.database, 1))
    await fill(web.app.database, "other", Kind.TWEETS, [text_of("1", "Nothing")])
    assert len((await web.json("/feed.json", corpus="demo"))["items"]) == 1
    other = await web.json("/feed.json", corpus="other")
    assert (other["title"], other["items"]) == ("Presagio · other", [])
    assert other["feed_url"] == f"{ADDRESS}/feed.json?corpus=other"
    assert (await web.get("/feed.xml", corpus="none")).status_code == 404


async def test_headlines_of_a_feed_that_only_a_chat_reads_are_its_own(web: WebStage) -> None:
    await filled(web.app.database, await posted(web.app.database, 1))
    await configured(web.app.database)  # the feed is taken out of the settings
    assert (await web.json("/feed.json"))["items"] == []


async def test_a_reader_that_has_it_is_sent_nothing(web: WebStage) -> None:
    first = await web.get("/feed.xml")
    again = await web.client.get("/feed.xml", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_pages_name_the_feeds(web: WebStage) -> None:
    home = (await web.get("/wall")).text
    assert '<link rel="alternate" type="application/atom+xml"' in home
    assert 'href="/feed.xml"' in home


def test_anything_may_stand_in_a_text() -> None:
    strange = "a\x0b & <b> ]]> 🌍 العربية"
    entry = PostedEntry(
        id="urn:x", title=strange, url="http://x/?a=1&b=2", text=strange, author=None,
        posted_at=datetime(2020, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    feed = PostedFeed(title="t", language="en", home="http://x", url="http://x/f", entries=[entry])
    read = feedparser.parse(render_atom(feed))
    assert not read.bozo
    assert read.entries[0].link == entry.url
    assert "& <b>" in read.entries[0].content[0].value
    assert "العربية" in read.entries[0].content[0].value
    assert b"jsonfeed" in render_json_feed(feed)
