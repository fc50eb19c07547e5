"""A round decides what is due for many chats at once, and does not look at the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bot.app import App, open_app
from bot.jobs.digest import decide_due_posts, find_corpora, find_corpus
from bot.settings import load_settings
from db.chat.chats import Chats
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.subscriptions import Finds, Subscriptions
from engine.chat import Chat
from engine.posting.delivery import PostingMode, StoryFind, Subscription
from engine.values import Corpus, Kind
from tests.bot.apps import app_on
from tests.bot.conversing import corpus
from tests.db.news import DAY, NOW, SECOND, count, found, some_stories, subscribed, tweet

DUE = NOW + timedelta(minutes=1)
CHATS = 7


def deciding(database: Database) -> App:
    return app_on(database, [corpus("demo")])


async def found_something(database: Database) -> None:
    (story,) = await some_stories(database, 1)
    await found(database, story, [tweet(1)])


async def test_every_chat_that_is_due_is_decided_page_by_page(
    storage: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.jobs.digest._PAGE_SIZE", 3)
    chats = [await subscribed(storage, str(number)) for number in range(CHATS)]
    topic = replace(chats[0], topic="77", thread="77")
    await Subscriptions(storage).set(topic, now=NOW - DAY)
    await found_something(storage)
    work = deciding(storage)
    assert await decide_due_posts(work, now=DUE) == CHATS, (
        "the topic is not told what its chat was told"
    )
    assert await count(storage, "digest") == CHATS + 1
    assert await decide_due_posts(work, now=DUE + SECOND) == 0
    assert await count(storage, "digest") == CHATS + 1
    assert await Subscriptions(storage).due(now=DUE + SECOND, limit=9) == []
    assert await decide_due_posts(work, now=DUE + DAY) == 0, "there is nothing new"
    assert await count(storage, "digest") == 2 * (CHATS + 1)


@pytest.mark.parametrize(("hours", "posts"), [(24.5, 1), (25.5, 0)])
async def test_a_daily_post_looks_back_as_far_as_the_longest_day(
    storage: Database, hours: float, posts: int
) -> None:
    await subscribed(storage)
    await found_something(storage)
    assert await decide_due_posts(deciding(storage), now=NOW + timedelta(hours=hours)) == posts


async def test_a_chat_that_fails_does_not_hold_up_the_others(
    storage: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = [await subscribed(storage, str(number)) for number in range(CHATS)]
    await found_something(storage)
    broken = chats[2].chat.id

    async def fail_for_one(app: App, chats: Sequence[Chat]) -> Mapping[int, Corpus]:
        if broken in {chat.id for chat in chats}:
            raise LookupError(f"no corpus for {broken}")
        return await find_corpora(app, chats)

    with monkeypatch.context() as patched, pytest.raises(LookupError, match=f"for {broken}"):
        patched.setattr("bot.jobs.digest.find_corpora", fail_for_one)
        await decide_due_posts(deciding(storage), now=DUE)
    assert await count(storage, "delivery") == CHATS - 1
    assert await decide_due_posts(deciding(storage), now=DUE + SECOND) == 1, "it is tried again"


async def test_instant_find_is_posted_in_the_next_round_unless_quiet(storage: Database) -> None:
    work = deciding(storage)
    subscription = await subscribed(storage, mode=PostingMode.INSTANT)
    assert await decide_due_posts(work, now=DUE) == 0
    await found_something(storage)
    assert await decide_due_posts(work, now=DUE + SECOND) == 1
    assert await decide_due_posts(work, now=DUE + 2 * SECOND) == 0
    quiet = replace(subscription.chat, quiet_from=DUE.time(), quiet_to=(DUE + DAY / 24).time())
    await Chats(storage).change(quiet)
    assert await decide_due_posts(work, now=DUE + 3 * SECOND) == 0


async def test_shared_finds_equal_the_finds_of_a_single_chat(storage: Database) -> None:
    subscription = await subscribed(storage)
    for number, story in enumerate(await some_stories(storage, 3)):
        await found(storage, story, [tweet(number)])
    finds = Finds(storage)
    alone = await finds.for_chat(subscription, "demo", since=NOW)
    assert len(alone) == 3
    assert await finds.find_shared(["demo", "other"], since=NOW) == {"demo": alone}


async def test_finds_of_chats_with_own_feeds_are_read_in_one_query(
    storage: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many chats a page has, their finds are read at once."""
    asked: list[int] = []
    reading = Finds.postable

    async def counted(
        finds: Finds, wanted: Sequence[tuple[Subscription, str]], *, since: datetime
    ) -> Mapping[int, list[StoryFind]]:
        asked.append(len(wanted))
        return await reading(finds, wanted, since=since)

    async def never(*_: object, **__: object) -> None:
        raise AssertionError("one chat by itself")

    monkeypatch.setattr(Finds, "postable", counted)
    monkeypatch.setattr(Finds, "for_chat", never)
    await found_something(storage)
    for number in range(CHATS):
        subscription = await subscribed(storage, str(number))
        if number:
            url = f"https://feeds.test/{number}"
            await Feeds(storage).add(subscription.chat, url, now=NOW - DAY)
    assert await decide_due_posts(deciding(storage), now=DUE) == CHATS
    assert asked == [CHATS - 1]


CHAT = Chat(id=1, platform="telegram", external_id="42", private=False)


@pytest.mark.parametrize(
    ("kinds", "chosen", "address"),
    [
        ({"mine": Kind.TWEETS}, None, "mine"),
        ({"zebra": Kind.TWEETS, "ant": Kind.TWEETS}, None, "zebra"),  # the one that there was
        ({"diary": Kind.PERSONAL}, None, None),  # never by chance, trusted or not
        ({"mine": Kind.TWEETS, "diary": Kind.PERSONAL}, "diary", {"trusted": "diary"}),
        ({"mine": Kind.TWEETS}, "gone", None),
        ({}, None, None),
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
async def test_corpus_for_posts_is_one_the_chat_may_see(
    database_url: str,
    kinds: dict[str, Kind],
    chosen: str | None,
    address: str | dict[str, str] | None,
    trusted: bool,
) -> None:
    environ = {"DATABASE_URL": database_url}
    if trusted:
        environ["PRESAGIO_CHAT__PRIVATE"] = '["telegram:42"]'
    if isinstance(address, dict):
        address = address["trusted"] if trusted else None
    async with open_app(
        load_settings(environ=environ), progress=lambda _: None, migrate=True
    ) as app:
        for name, kind in kinds.items():
            await app.corpora.ensure(name, kind=kind, language="english", author=None)
        usable = await find_corpus(app, replace(CHAT, corpus=chosen))
        assert (usable and usable.name) == address
