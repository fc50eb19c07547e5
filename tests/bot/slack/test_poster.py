"""Each answer of Slack to a post means one thing, and what may have arrived can be looked up."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapter import ChatGone, DeliveryError, DeliveryRefused, PlatformFailed, SlowDown, Unsure
from bot.i18n.words import words_for
from bot.reply import Action, Button, Reply
from bot.slack import render as pictures
from bot.slack.adapter import SlackPoster
from engine.chat import Chat as KnownChat
from tests.fakes.slack import App, Channel, Fault, SlackServer

WORDS = words_for("en")
POST = Reply(
    words=WORDS,
    text="News & more",
    buttons=((Button(label="Why?", action=Action(name="why", answer_id=1, value="0")),),),
)
PICTURE = Reply(
    words=WORDS,
    text="a < b",
    picture=b"\x89PNG\r\n\x1a\n" + b"\0" * 64,
    picture_name="2012-03-14-rain.png",
    buttons=((Button(label="Why?", action=Action(name="why", answer_id=1, value="0")),),),
)
KEY = "daily:7:2026-11-22"
MANIFEST = Path(__file__).parents[3] / "deploy" / "slack-manifest.json"


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    """A workspace that grants what the project's manifest asks for, and no more."""
    installed = App.from_manifest(json.loads(MANIFEST.read_text()))
    async with SlackServer(installed) as server:
        yield server
        assert server.host.broken == []


@pytest.fixture
def general(slack: SlackServer) -> Channel:
    return slack.channel("general", [slack.user("alice")])


@pytest.fixture
def poster(slack: SlackServer) -> SlackPoster:
    return SlackPoster(slack.bot_token, api_base=slack.base_url)


def known(channel: Channel) -> KnownChat:
    return KnownChat(id=1, platform="slack", external_id=channel.id, private=False)


def lately() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=1)


async def test_a_post_is_one_message_that_is_found_by_its_key(
    slack: SlackServer, poster: SlackPoster, general: Channel
) -> None:
    identity = await poster.post(known(general), None, POST, key=KEY)
    (message,) = slack.bot_messages
    assert (identity, message.visible) == (message.ts, "News & more\nWhy?")
    assert message.buttons
    assert await poster.find_posted(known(general), None, KEY, lately()) == identity
    assert await poster.find_posted(known(general), None, KEY + "1", lately()) is None


@pytest.mark.parametrize(
    ("kind", "in_thread"), [("channel", False), ("group", False), ("im", False), ("channel", True)]
)
async def test_post_with_a_lost_response_is_found_by_its_key(
    slack: SlackServer, poster: SlackPoster, kind: str, in_thread: bool
) -> None:
    place = known(slack.channel("place", [slack.user("alice")], kind=kind))  # type: ignore[arg-type]  # one of the kinds
    thread = await poster.post(place, None, POST, key="other") if in_thread else None
    slack.fail("chat.postMessage", Fault(drop_after=True))
    with pytest.raises(Unsure):
        await poster.post(place, thread, POST, key=KEY)
    message = slack.bot_messages[-1]
    assert message.thread_ts == thread
    assert await poster.find_posted(place, thread, KEY, lately()) == message.ts


async def test_a_picture_is_one_message_with_its_text_and_its_buttons(
    slack: SlackServer, poster: SlackPoster, general: Channel
) -> None:
    slack.fail("chat.postMessage", Fault(drop_after=True))
    with pytest.raises(Unsure):
        await poster.post(known(general), None, PICTURE, key=KEY)
    (message,) = slack.bot_messages
    assert await poster.find_posted(known(general), None, KEY, lately()) == message.ts
    assert [block["type"] for block in message.blocks] == ["rich_text", "image", "actions"]
    (upload,) = slack.files.uploads.values()
    assert (upload.content, upload.filename) == (PICTURE.picture, PICTURE.picture_name)


async def test_a_picture_waits_until_slack_has_read_its_file(
    slack: SlackServer, poster: SlackPoster, general: Channel
) -> None:
    slack.files.unread = 2
    await poster.post(known(general), None, PICTURE, key=KEY)
    (message,) = slack.bot_messages
    assert "image" in {block["type"] for block in message.blocks}


async def test_picture_slack_never_reads_is_posted_as_a_file(
    slack: SlackServer, poster: SlackPoster, general: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "_PAUSES", (0.0,))
    slack.files.unread = 9
    await poster.post(known(general), None, PICTURE, key=KEY)
    (message,) = slack.bot_messages
    assert len(message.files) == 1
    assert await poster.find_posted(known(general), None, KEY, lately()) == message.ts


async def test_find_posted_pages_through_later_messages(
    slack: SlackServer, poster: SlackPoster, general: Channel
) -> None:
    identity = await poster.post(known(general), None, POST, key=KEY)
    for number in range(450):
        slack.workspace.post(general, slack.bot, f"message {number}")
    assert await poster.find_posted(known(general), None, KEY, lately()) == identity


async def test_find_posted_ignores_older_messages(poster: SlackPoster, general: Channel) -> None:
    await poster.post(known(general), None, POST, key=KEY)
    later = datetime.now(UTC) + timedelta(seconds=1)
    assert await poster.find_posted(known(general), None, KEY, later) is None


async def test_find_posted_without_the_history_scope_returns_none(
    general: Channel, slack: SlackServer
) -> None:
    """Then it is as on Telegram: better twice than not at all."""
    async with SlackServer(App(scopes=frozenset({"chat:write"}))) as narrow:
        place = narrow.channel("general", [narrow.user("alice")])
        poster = SlackPoster(narrow.bot_token, api_base=narrow.base_url)
        await poster.post(known(place), None, POST, key=KEY)
        assert await poster.find_posted(known(place), None, KEY, lately()) is None


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(error="ratelimited", retry_after=17), SlowDown),
        (Fault(error="channel_not_found"), ChatGone),
        (Fault(error="is_archived"), ChatGone),
        (Fault(error="not_in_channel"), ChatGone),
        (Fault(error="msg_too_long"), DeliveryRefused),
        (Fault(error="invalid_auth"), DeliveryError),
        (Fault(error="fatal_error"), PlatformFailed),
        (Fault(status=503), PlatformFailed),
        (Fault(drop_before=True), Unsure),
    ],
)
async def test_slack_errors_map_to_delivery_errors(
    slack: SlackServer,
    poster: SlackPoster,
    general: Channel,
    fault: Fault,
    expected: type[DeliveryError],
) -> None:
    slack.fail("chat.postMessage", fault)
    with pytest.raises(DeliveryError) as raised:
        await poster.post(known(general), None, POST, key=KEY)
    assert type(raised.value) is expected
    assert len(slack.calls_of("chat.postMessage")) == 1, "the outbox tries again, nobody else"
    if isinstance(raised.value, SlowDown):
        assert raised.value.seconds == 17


async def test_rate_limit_in_find_posted_raises_slow_down(
    slack: SlackServer, poster: SlackPoster, general: Channel
) -> None:
    slack.fail("conversations.history", Fault(error="ratelimited", retry_after=9))
    with pytest.raises(SlowDown):
        await poster.find_posted(known(general), None, KEY, lately())


async def test_unreachable_slack_raises_a_plain_delivery_error(general: Channel) -> None:
    poster = SlackPoster("xoxb", api_base="http://127.0.0.1:9/api/")
    with pytest.raises(DeliveryError) as raised:
        await poster.post(known(general), None, POST, key=KEY)
    assert type(raised.value) is DeliveryError
