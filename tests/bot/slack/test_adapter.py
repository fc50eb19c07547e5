"""What people see when Slack does not take what the bot sends."""

from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bot.adapter import DeliveryError
from bot.i18n.words import words_for
from bot.reply import Reply
from bot.request import Person, Place, Trigger
from bot.slack.adapter import SlackAdapter
from bot.slack.client import People, create_web_client
from tests.bot.conversing import event
from tests.fakes.slack import App, Channel, Fault, SlackServer, User
from tests.fakes.slack.conversation import ChannelKind

PICTURE = Reply(words=words_for("en"), text="https://x.com/ana/status/1", picture=b"\x89PNG")


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        yield server


@pytest.fixture
def alice(slack: SlackServer) -> User:
    return slack.user("alice")


@pytest.fixture
def adapter(slack: SlackServer) -> SlackAdapter:
    return SlackAdapter(create_web_client(slack.bot_token, slack.base_url))


async def refused(
    slack: SlackServer, adapter: SlackAdapter, channel: Channel, user: User
) -> DeliveryError:
    """Send a picture where somebody used a command; return why it did not arrive."""
    address = slack.response_urls.issue(channel, user, None)
    request = event(
        "/picture",
        place=Place(platform="slack", chat_id=channel.id, private=False),
        person=Person(id=user.id),
        trigger=Trigger.COMMAND,
        origin={"response_url": address},
    )
    with pytest.raises(DeliveryError) as failed:
        await adapter.deliver(request, PICTURE)
    return failed.value


async def notice(slack: SlackServer, adapter: SlackAdapter, alice: User) -> str:
    """Fail a picture in a channel that the bot is in; return what Alice alone is told."""
    channel = slack.channel("general", [alice])
    await refused(slack, adapter, channel, alice)
    (message,) = channel.ephemerals
    assert message.ephemeral_to is alice
    assert channel.messages == []
    return message.visible


@pytest.mark.parametrize("kind", ["channel", "group"])
async def test_outside_of_a_channel_the_asker_is_told_to_invite_the_bot(
    slack: SlackServer, adapter: SlackAdapter, alice: User, kind: ChannelKind
) -> None:
    slack.api.app = App(scopes=frozenset({"chat:write", "files:write"}))
    channel = slack.channel("elsewhere", [alice], kind=kind, with_bot=False)
    error = await refused(slack, adapter, channel, alice)
    assert type(error) is DeliveryError  # not ChatGone, which would pause the chat
    (message,) = channel.ephemerals
    assert "/invite @Presagio" in message.visible
    assert message.ephemeral_to is alice


async def test_a_missing_scope_is_named_to_the_asker(
    slack: SlackServer, adapter: SlackAdapter, alice: User
) -> None:
    slack.api.app = App(scopes=frozenset({"chat:write"}))
    text = await notice(slack, adapter, alice)
    assert "files:write" in text
    assert "install" in text


@pytest.mark.parametrize(
    ("method", "fault", "code"),
    [
        ("files.completeUploadExternal", Fault(error="internal_error"), "internal_error"),
        ("files.getUploadURLExternal", Fault(drop_before=True), "ServerDisconnectedError"),
        ("upload", Fault(status=500), "SlackRequestError"),
    ],
)
async def test_any_other_failure_is_said_by_its_code(
    slack: SlackServer, adapter: SlackAdapter, alice: User, method: str, fault: Fault, code: str
) -> None:
    slack.fail(method, fault)
    assert await notice(slack, adapter, alice) == (
        f"Slack did not take the picture ({code}). Try again later."
    )


async def test_a_picture_by_mention_fails_in_its_thread(
    slack: SlackServer, adapter: SlackAdapter, alice: User
) -> None:
    slack.fail("files.completeUploadExternal", Fault(error="internal_error"))
    channel = slack.channel("general", [alice])
    request = event(
        "/picture",
        place=Place(platform="slack", chat_id=channel.id, private=False, thread="1.1"),
        person=Person(id=alice.id, language="es"),
    )
    with pytest.raises(DeliveryError):
        await adapter.deliver(request, replace(PICTURE, words=words_for("es")))
    (message,) = channel.ephemerals
    assert message.thread_ts == "1.1"
    assert message.visible.startswith("Slack no aceptó la imagen (internal_error).")


async def test_a_notice_that_fails_too_leaves_the_first_failure_to_the_log(
    slack: SlackServer, adapter: SlackAdapter, alice: User
) -> None:
    slack.fail("files.completeUploadExternal", Fault(error="not_in_channel"))
    slack.fail("response_url", Fault(status=500))
    error = await refused(slack, adapter, slack.channel("general", [alice]), alice)
    assert type(error) is DeliveryError
    assert str(error) == "Slack did not take a picture: not_in_channel."


async def test_malformed_error_code_is_not_shown(slack: SlackServer, adapter: SlackAdapter) -> None:
    slack.fail("chat.postMessage", Fault(error="what somebody wrote"))
    channel = slack.channel("general", [])
    place = Place(platform="slack", chat_id=channel.id, private=False)
    with pytest.raises(DeliveryError, match="status 200"):
        await adapter.deliver(event("x", place=place), Reply(words=words_for("en"), text="x"))


ANNOUNCED = Reply(words=words_for("en"), text="Looking into the archives…", writes=7)


@pytest.mark.parametrize("with_bot", [True, False])
async def test_announcement_is_edited_only_in_channels_of_the_bot(
    slack: SlackServer, adapter: SlackAdapter, alice: User, *, with_bot: bool
) -> None:
    channel = slack.channel("secret", [alice], kind="group", with_bot=with_bot)
    request = event(
        "/compose Coffee",
        place=Place(platform="slack", chat_id=channel.id, private=False),
        person=Person(id=alice.id),
        trigger=Trigger.COMMAND,
        origin={"response_url": slack.response_urls.issue(channel, alice, None)},
    )
    message = await adapter.deliver(request, ANNOUNCED)
    assert (message is not None) is with_bot
    outcome = Reply(words=words_for("en"), text="Dear. [1]")
    if message is None:
        await adapter.deliver(request, outcome)
        assert [one.visible for one in channel.messages] == [ANNOUNCED.text, "Dear. [1]"]
    else:
        await adapter.change(request, message, outcome)
        assert [one.visible for one in channel.messages] == ["Dear. [1]"]


async def test_a_right_that_is_taken_away_on_slack_ends_within_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, user = 1000.0, {"team_id": "T1", "is_admin": True}

    class Client:
        async def users_info(self, **_: object) -> dict[str, object]:
            return {"user": dict(user)}

    monkeypatch.setattr("bot.slack.client.time", SimpleNamespace(monotonic=lambda: now))
    people = People(Client())  # type: ignore[arg-type]  # all that is called
    assert await people.is_admin("U1", team="T1")
    user["is_admin"] = False
    assert await people.is_admin("U1", team="T1")
    now += 301
    assert not await people.is_admin("U1", team="T1")
