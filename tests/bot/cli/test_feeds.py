"""`presagio feeds`, `posts --dry-run` and `run-once`: from the bytes of a feed to both chats."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from engine.feeds.lookup import OpmlFeed, read_opml, write_opml
from engine.posting.delivery import PostingMode
from tests.bot.command_line import Done, ask
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.database import execute
from tests.fakes.web import page
from tests.scenarios.newsroom import FEED, HOUR, Newsroom, newsroom
from tests.scenarios.stage import HEADLINE, TWEETS

DULL = "Parliament debates the harbour extension once more"
PAGE = """<html><head><title>x</title>
<link rel="alternate" type="application/rss+xml" href="/feed.xml">
<link rel="alternate" type="application/rss+xml" href="/sport.xml"></head></html>"""


async def run(
    room: Newsroom, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> Done:
    environ = {**os.environ, **room.environ, **(env or {})}
    return await asyncio.to_thread(partial(forked, *arguments, env=environ, stdin=stdin))


async def half_an_hour_later(room: Newsroom) -> None:
    """Let every feed be due again."""
    await execute(room.environ["DATABASE_URL"], "UPDATE feed SET next_poll_at = now()")


@pytest.fixture
async def room(coffee_url: str) -> AsyncIterator[Newsroom]:
    async with newsroom(coffee_url) as room:
        yield room


async def add(room: Newsroom, *more: str) -> Done:
    return await run(room, "feeds", "add", room.web.url(FEED), *more)


async def await_news(room: Newsroom) -> None:
    """Subscribe a group to a feed that brings a headline by the next run."""
    await room.subscribe(await room.process(), "telegram")
    await add(room)
    await run(room, "run-once")
    room.publish(HEADLINE)
    await half_an_hour_later(room)


def shown(message: object) -> str:
    return str(getattr(message, "visible", None) or getattr(message, "text", ""))


# From the bytes of a feed to the message


async def test_overlapping_run_once_posts_once_per_platform(room: Newsroom) -> None:
    """Two runs at the same time, as when one takes longer than cron waits."""
    process = await room.process()
    for platform in ("telegram", "slack"):
        await room.subscribe(process, platform)
    assert (await add(room, "--category", "news")).code == 0
    first = await run(room, "run-once")
    assert (first.code, first.err) == (0, "")
    assert first.out == (
        "1 feeds read, 0 stories searched or judged, 0 posts decided, 0 messages sent.\n"
    )
    room.publish(HEADLINE, DULL)
    await half_an_hour_later(room)
    both = await asyncio.gather(*(run(room, "run-once", "--json") for _ in range(2)))
    assert sum(done.json["posts"] for done in both) == 2
    for platform in ("telegram", "slack"):
        (message,) = room.said(platform)
        assert HEADLINE in shown(message)
        assert TWEETS[0] in shown(message)
    assert room.model.calls <= 2, "the dull story did not reach the model"
    last = await run(room, "run-once", "--json")
    counts = ("feeds", "stories", "posts", "sent", "given_up", "waiting")
    assert last.json == dict.fromkeys(counts, 0)
    jobs = await asyncio.to_thread(
        ask, room.environ["DATABASE_URL"], "SELECT count(*) FROM job_outcome WHERE outcome = 'done'"
    )
    assert jobs == 5


@pytest.mark.parametrize(
    "fault", [{"error": 500}, {"error": 400, "description": "Bad Request: CHAT_WRITE_FORBIDDEN"}]
)
async def test_what_could_not_be_sent_is_told_kept_and_sent_by_the_next_run(
    room: Newsroom, fault: dict[str, int | str]
) -> None:
    await await_news(room)
    room.telegram.fail("sendMessage", **fault)  # type: ignore[arg-type]  # a table of faults
    failed = await run(room, "run-once")
    assert failed.code == 1
    assert "1 posts decided, 0 messages sent." in failed.out
    assert "presagio: 1 messages could not be sent: " in failed.err
    assert failed.err.endswith("They are kept; the next run tries again.\n")
    assert room.said("telegram") == []
    await execute(room.environ["DATABASE_URL"], "UPDATE delivery SET next_attempt_at = now()")
    assert (await run(room, "run-once", "--json")).json["sent"] == 1
    assert len(room.said("telegram")) == 1


async def test_a_message_that_was_given_up_makes_the_run_fail(room: Newsroom) -> None:
    await await_news(room)
    room.telegram.fail("sendMessage", error=400, description="Bad Request: message is too long")
    failed = await run(room, "run-once")
    assert failed.code == 1
    assert "presagio: 1 messages were given up: Telegram refuses the message" in failed.err


async def test_without_a_token_everything_but_sending_is_done(room: Newsroom) -> None:
    await add(room)
    without = {"TELEGRAM_BOT_TOKEN": "", "SLACK_BOT_TOKEN": ""}
    done = await run(room, "run-once", env=without)
    assert (done.code, done.err) == (
        0,
        "No token of a chat platform is set: nothing is sent from here.\n",
    )


# What would be posted


async def test_a_dry_run_says_what_and_why_not_the_rest_and_posts_nothing(room: Newsroom) -> None:
    process = await room.process()
    hour = (room.clock() + 3 * HOUR).time().replace(second=0, microsecond=0)
    subscription = await room.subscribe(process, "slack", mode=PostingMode.DAILY, at=hour)
    await room.subscribe(process, "telegram", mode=PostingMode.DAILY, at=hour, must=("football",))
    await add(room)
    await run(room, "run-once")
    room.publish(HEADLINE, DULL)
    await half_an_hour_later(room)
    await run(room, "run-once")
    done = await run(room, "posts", "--dry-run", "--since", "24h", "--json")
    assert done.code == 0
    rows = {row["chat"]: row for row in done.json_lines}
    slack = rows[f"slack:{room.channel.id}"]
    assert [post["headline"] for post in slack["posts"]] == [HEADLINE]
    assert slack["posts"][0]["tweet"] == TWEETS[0]
    assert slack["posts"][0]["judgment"] == 5
    assert slack["unfound"] == {"too few words in common with any tweet": 1}
    telegram = rows[f"telegram:{room.group.id}"]
    assert telegram["posts"] == []
    assert telegram["left_out"] == [
        {"headline": HEADLINE, "link": "https://news.example/2", "reason": "word missing"}
    ]
    name = f"slack:{subscription.chat.external_id}"
    posts = await run(room, "posts", "--dry-run", "--chat", name)
    assert posts.out.startswith(f"{name} (Friends): daily, next post ")
    assert f"\n1. {HEADLINE}\n" in posts.out
    assert f"before: {TWEETS[0]}\n" in posts.out
    assert posts.out.endswith("-  1 more stories: too few words in common with any tweet\n")
    assert room.said("slack") == room.said("telegram") == []
    nothing = await run(room, "posts", "--dry-run", "--since", "0m", "--chat", name)
    assert "Nothing would be posted." in nothing.out


def test_posts_requires_dry_run_and_a_valid_span(invoke: Invoke, unreachable: None) -> None:
    assert "Pass --dry-run" in invoke("posts").complaint(2)
    assert "'soon' is no span of time." in invoke(
        "posts", "--dry-run", "--since", "soon"
    ).complaint(2)


def test_dry_run_without_subscriptions_says_so(invoke: Invoke, database: str) -> None:
    done = invoke("posts", "--dry-run")
    assert (done.code, done.out) == (0, "No chat is subscribed; see /subscribe.\n")
    assert (
        "There is no chat slack:C1."
        in invoke("posts", "--dry-run", "--chat", "slack:C1").complaint()
    )


# Feeds


async def test_the_table_tells_how_feeds_fare(room: Newsroom) -> None:
    room.web.pages["/broken"] = page("nothing")
    await add(room, "--category", "news")
    broken = write_opml([OpmlFeed(url=room.web.url("/broken"))], title="x")
    assert (await run(room, "feeds", "import", "-", stdin=broken)).code == 0
    await run(room, "run-once")
    room.publish(HEADLINE)
    await half_an_hour_later(room)
    await run(room, "run-once")
    rows = {row["url"]: row for row in (await run(room, "feeds", "--json")).json_lines}
    good, bad = rows[room.web.url(FEED)], rows[room.web.url("/broken")]
    assert (good["state"], good["failures"], good["category"]) == ("ok", 0, "news")
    assert good["headlines_a_day"] == round(1 / 7, 2)
    assert good["last_success"] < good["next_poll"]
    assert (bad["state"], bad["last_success"], bad["everybody"]) == ("failing", None, True)
    assert bad["failures"] == 2
    table = (await run(room, "feeds")).out
    assert " ".join(table.splitlines()[0].split()) == (
        "feed category for state last success next poll failures a day error"
    )
    assert "This is not a feed." in table
    found = {row["check"]: row for row in (await run(room, "doctor", "--json")).json_lines}
    assert found["feeds"]["ok"] is True, "not yet for long"
    assert found["feeds"]["detail"].startswith("2 followed, 1 failing; ")
    assert found["jobs"]["ok"] is True
    assert "poll: 2 done" in found["jobs"]["detail"]
    assert found["outbox"]["detail"] == "0 owed, 0 of them tried before; 0 given up in 7 days"


async def test_feeds_are_added_tried_exported_and_removed(room: Newsroom) -> None:
    url = room.web.url(FEED)
    tried = await run(room, "feeds", "test", url, "--json")
    assert (tried.json["title"], tried.json["entries"]) == ("The Paper", 1)
    assert (await add(room, "--category", "tech")).out.startswith("Added The Paper.")
    exported = await run(room, "feeds", "export")
    assert read_opml(exported.out.encode()) == (OpmlFeed(url=url, title=url, category="tech"),)
    assert (await run(room, "feeds", "remove", url)).out == f"Removed {url}.\n"
    assert (await run(room, "feeds", "list", "--json")).out == ""
    assert "none is at" in (await run(room, "feeds", "remove", url)).complaint()


async def test_feed_of_one_chat_stays_private_and_hides_its_token(
    room: Newsroom, tmp_path: Path
) -> None:
    """What a chat's feed brings is searched by nobody else, over any adapter."""
    process = await room.process()
    chat = await room.chat(process, "telegram")
    room.web.pages[f"{FEED}?token=s3cret"] = room.web.pages[FEED]
    url = room.web.url(f"{FEED}?token=s3cret")
    named = ("--chat", f"telegram:{chat.external_id}")
    await run(room, "feeds", "add", url, *named)
    assert (await run(room, "run-once", "--json")).json["feeds"] == 1
    listed = await run(room, "feeds", "--json")
    assert (listed.json["url"], listed.json["chats"]) == (url.replace("s3cret", "…"), 1)
    runs = [await run(room, *words) for words in (("feeds",), ("feeds", "export"), ("doctor",))]
    assert "s3cret" not in "".join(one.out + one.err for one in runs)
    exported = await run(room, "feeds", "export", *named)
    assert [feed.url for feed in read_opml(exported.out.encode())] == [url]
    found = await run(room, "find", "village", "--corpus", "news", "--json")
    assert "news.example" not in found.out
    # What everybody gets is another matter, and what the operator asks for.
    (tmp_path / "feeds.opml").write_text(exported.out)
    assert (await run(room, "feeds", "import", str(tmp_path / "feeds.opml"))).code == 0
    assert (await run(room, "feeds", "--json")).json["everybody"] is True
    await half_an_hour_later(room)
    await run(room, "run-once")
    found = await run(room, "find", "village", "--corpus", "news", "--json")
    assert "news.example" in found.out


async def test_page_with_several_feeds_lists_them_for_a_choice(room: Newsroom) -> None:
    room.web.pages["/"] = page(PAGE)
    done = await run(room, "feeds", "add", room.web.url("/"))
    assert done.code == 1
    assert done.out.split() == [room.web.url("/feed.xml"), room.web.url("/sport.xml")]
    assert done.err == "presagio: The page names several feeds. Add one of them.\n"


async def test_feed_from_the_settings_cannot_be_removed_by_command(
    room: Newsroom, tmp_path: Path
) -> None:
    url = room.web.url(FEED)
    (tmp_path / "config.toml").write_text(f'[[feeds]]\nurl = "{url}"\n')
    config = ("--config", str(tmp_path / "config.toml"), "feeds")
    assert "is in the settings." in (await run(room, *config, "remove", url)).complaint()
    (row,) = (await run(room, *config, "--json")).json_lines
    assert (row["everybody"], row["state"]) == (True, "new")


async def test_chat_option_adds_lists_and_removes_feeds_of_one_chat(room: Newsroom) -> None:
    chat = await room.chat(await room.process(), "slack")
    name = f"slack:{chat.external_id}"
    assert (await add(room, "--chat", name, "--json")).json["title"] == "The Paper"
    (row,) = (await run(room, "feeds", "list", "--chat", name, "--json")).json_lines
    assert (row["everybody"], row["chats"]) == (False, 1)
    assert "1 chats" in (await run(room, "feeds")).out
    assert (await run(room, "feeds", "remove", room.web.url(FEED), "--chat", name)).code == 0
    assert (await run(room, "feeds", "list", "--chat", name, "--json")).out == ""
    assert "There is no chat slack:none." in (await add(room, "--chat", "slack:none")).complaint()


def test_import_refuses_an_unreadable_list(invoke: Invoke, database: str, tmp_path: Path) -> None:
    (tmp_path / "x.opml").write_text("<html/>")
    assert "not a list of feeds" in invoke("feeds", "import", str(tmp_path / "x.opml")).complaint()
    assert "cannot be read" in invoke("feeds", "import", str(tmp_path / "none.opml")).complaint()
