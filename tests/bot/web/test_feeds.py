"""The feeds of what was posted, as feed readers read them."""

import html
from collections.abc import Sequence
from datetime import UTC, datetime

import feedparser
from selectolax.lexbor import LexborHTMLParser

from bot.i18n.words import words_for
from bot.web.examples import ForetoldView
from bot.web.feeds import PostedEntry, PostedFeed, render_atom, render_json_feed
from bot.web.rendering import view_text
from db.pool import Database
from db.posting.outbox import Outbox
from engine.feeds.read import read_json_feed
from engine.posting.delivery import PostingMode, SelectedFind
from engine.values import Kind
from tests.ages import say_years
from tests.bot.kinds import fill, text_of
from tests.bot.prophecies import make_hit
from tests.bot.web.stage import ADDRESS, WebStage
from tests.bot.web.test_pages import one, texts
from tests.db.news import MINUTE, NOW, decide_instant, some_chosen, subscribed

FEED = "application/atom+xml"


async def posted(
    database: Database, number: int, *, corpus: str = "demo"
) -> Sequence[SelectedFind]:
    """Post so many finds in two chats, a minute apart, and owe another one."""
    everything = await some_chosen(database, number + 1, corpus=corpus)
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


async def filled(
    database: Database, chosen: Sequence[SelectedFind], kind: Kind = Kind.TWEETS, **changes: object
) -> None:
    said = [
        text_of(
            pick.hit.candidate.external_id,
            f"I said so <{pick.find.story.id}>",
            days_ago=4000,
            **changes,
        )
        for pick in chosen
    ]
    await fill(database, "demo", kind, said)


async def test_feed_lists_each_post_once_newest_first(web: WebStage) -> None:
    chosen = await posted(web.app.database, 2)
    await filled(web.app.database, chosen)
    answered = await web.get("/feed.xml")
    assert answered.headers["content-type"] == FEED
    read = feedparser.parse(answered.content)
    assert not read.bozo
    assert read.feed.title == "Presagio"
    assert [entry.title for entry in read.entries] == [
        f"{pick.find.story.text}!" for pick in reversed(chosen)
    ]
    newest = read.entries[0]
    assert newest.content[0].type == "text/html"
    said = LexborHTMLParser(newest.content[0].value)
    assert texts(said, "blockquote p") == [f"I said so <{chosen[-1].find.story.id}>"]
    assert one(said, "a img").parent.attributes["href"] == newest.link  # type: ignore[union-attr]  # it has one
    assert say_years(10, 11) in newest.content[0].value
    assert datetime.fromisoformat(newest.updated) == NOW + MINUTE
    assert newest.link.startswith(f"{ADDRESS}/prophecy?headline=number1")
    assert datetime.fromisoformat(newest.published) == NOW + MINUTE
    assert read.feed.icon == f"{ADDRESS}/static/icon-512.png"
    picture = str(one(said, "img").attributes["src"])
    for linked in (newest.link, picture, read.feed.icon):
        assert (await web.get(linked.removeprefix(ADDRESS))).status_code == 200


async def test_atom_and_json_feeds_have_the_same_entries(web: WebStage) -> None:
    chosen = await posted(web.app.database, 2)
    await filled(web.app.database, chosen)
    atoms = feedparser.parse((await web.get("/feed.xml")).content).entries
    answered = await web.get("/feed.json", lang="es")
    assert answered.headers["content-type"] == "application/feed+json"
    body = answered.json()
    assert (body["version"], body["language"]) == ("https://jsonfeed.org/version/1.1", "es")
    assert [item["id"] for item in body["items"]] == [entry.id for entry in atoms]
    newest = body["items"][0]
    for content in (newest["content_text"], newest["content_html"]):
        assert say_years(10, 11, language="es") in content
    assert newest["image"] in html.unescape(newest["content_html"])
    read = read_json_feed(answered.text, f"{ADDRESS}/feed.json")
    assert [entry.title for entry in read.entries] == [entry.title for entry in atoms]


async def test_a_browser_is_shown_a_page(web: WebStage) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    empty = LexborHTMLParser((await web.client.get("/feed.xml", headers=browser)).text)
    assert one(empty, ".actions a").attributes["href"] == "/", "where one may ask meanwhile"
    chosen = await posted(web.app.database, 2)
    await filled(web.app.database, chosen)
    for path in ("/feed.xml", "/feed.json"):
        answered = await web.client.get(path, headers=browser)
        assert answered.headers["content-type"].startswith("text/html")
        assert "Accept" in answered.headers["vary"].split(", ")
        page = LexborHTMLParser(answered.text)
        assert texts(page, "blockquote p") == [
            f"I said so <{pick.find.story.id}>" for pick in reversed(chosen)
        ]
        assert len(page.css(".story a[href^='/prophecy?']")) == 2
        assert one(page, ".box button").attributes["data-copy"] == one(page, ".box code").text()
        assert one(page, ".box code").text() == f"{ADDRESS}/feed.xml"


async def test_a_feed_without_entries_shows_invented_ones_of_the_demo(demo_web: WebStage) -> None:
    answered = await demo_web.client.get("/feed.xml", headers={"Accept": "text/html"})
    page = LexborHTMLParser(answered.text)
    assert len(texts(page, ".leads .lead-time")) == 2
    assert "invented" in texts(page, ".facts")[-1]


async def test_a_text_that_was_removed_is_not_shown(web: WebStage) -> None:
    chosen = await posted(web.app.database, 2)
    await filled(web.app.database, chosen[:1])
    feed = await web.json("/feed.json")
    assert [item["title"] for item in feed["items"]] == [f"{chosen[0].find.story.text}!"]


async def test_a_corpus_may_be_asked_for(web: WebStage) -> None:
    await filled(web.app.database, await posted(web.app.database, 1))
    await fill(web.app.database, "other", Kind.TWEETS, [text_of("1", "Nothing")])
    assert len((await web.json("/feed.json", corpus="demo"))["items"]) == 1
    other = await web.json("/feed.json", corpus="other")
    assert (other["title"], other["items"]) == ("Presagio · other", [])
    assert other["feed_url"] == f"{ADDRESS}/feed.json?corpus=other"
    assert (await web.get("/feed.xml", corpus="none")).status_code == 404


async def test_unchanged_feed_is_answered_with_304(web: WebStage) -> None:
    first = await web.get("/feed.xml")
    again = await web.client.get("/feed.xml", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_pages_name_the_feeds(web: WebStage) -> None:
    home = (await web.get("/")).text
    assert '<link rel="alternate" type="application/atom+xml"' in home
    assert 'href="/feed.xml"' in home


def test_strange_characters_produce_valid_feeds() -> None:
    strange = "a\x0b & <b> ]]> 🌍 العربية"
    text = view_text(make_hit(text=strange).candidate, "c", words_for("en"), longest=280)
    found = ForetoldView(
        title=strange, path="/?a=1&b=2", picture_path="/p", age="", news_day="2020-01-01",
        news_date="", text=text,
    )  # fmt: skip
    entry = PostedEntry(
        id="urn:x", foretold=found, original=None, source="", link=None,
        posted_at=datetime(2020, 1, 1, tzinfo=UTC),
        html=f"<p>{html.escape(strange)}</p>",
    )  # fmt: skip
    feed = PostedFeed(
        title="t", language="en", origin="http://x", home="/", path="/f", draws=False,
        entries=[entry],
    )  # fmt: skip
    read = feedparser.parse(render_atom(feed))
    assert not read.bozo
    assert read.entries[0].link == "http://x/?a=1&b=2"
    assert "&amp; &lt;b&gt;" in read.entries[0].content[0].value
    assert "العربية" in read.entries[0].content[0].value
    assert b"jsonfeed" in render_json_feed(feed)
