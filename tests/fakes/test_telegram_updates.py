"""What the bot is told: shapes as python-telegram-bot reads them, and who hears what."""

from collections.abc import Iterator
from typing import Any

import pytest
from telegram import TelegramObject, Update
from telegram.constants import UpdateType

from tests.fakes.every_update import every_update
from tests.fakes.telegram import TelegramServer, User

# Newer than the library.
_NEWER = {"can_send_welcome_messages"}


@pytest.fixture
def telegram() -> TelegramServer:
    return TelegramServer(username="presagio_bot")


@pytest.fixture
def alice(telegram: TelegramServer) -> User:
    return telegram.user("Alice")


def objects(value: object) -> Iterator[TelegramObject]:
    """A library object and all that hang below it."""
    if isinstance(value, TelegramObject):
        yield value
        for name in value.__slots__:
            yield from objects(getattr(value, name, None))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from objects(one)


async def test_python_telegram_bot_knows_every_field_of_every_update(
    telegram: TelegramServer,
) -> None:
    for payload in await every_update(telegram):
        update = Update.de_json(payload, None)
        for one in objects(update):
            assert set(one.api_kwargs) <= _NEWER, one
        # What it read is what was sent.
        assert _plain(update.to_dict()) == _plain(payload)


def _plain(value: Any) -> Any:
    """Without what the library adds or leaves out by itself: false flags, empty lists."""
    if isinstance(value, dict):
        kept = {name: _plain(one) for name, one in value.items() if name not in _NEWER}
        return {name: one for name, one in kept.items() if one not in ([], False)}
    return [_plain(one) for one in value] if isinstance(value, list) else value


async def test_every_kind_of_update_for_such_a_bot_is_generated(telegram: TelegramServer) -> None:
    kinds = {name for one in await every_update(telegram) for name in one} - {"update_id"}
    assert kinds == {
        UpdateType.MESSAGE,
        UpdateType.EDITED_MESSAGE,
        UpdateType.CHANNEL_POST,
        UpdateType.CALLBACK_QUERY,
        UpdateType.INLINE_QUERY,
        UpdateType.CHOSEN_INLINE_RESULT,
        UpdateType.MY_CHAT_MEMBER,
    }


def heard(telegram: TelegramServer) -> list[str]:
    """The texts that the bot was told of."""
    messages = [update.message for update in telegram.updates.values()]
    return [message.text for message in messages if message]


async def test_privacy_mode_shows_commands_and_replies_only(
    telegram: TelegramServer, alice: User
) -> None:
    group = telegram.group("News", admins=[alice])
    bots = telegram.world.post(group, sender=telegram.bot)
    first = await alice.says(group, "small talk")
    await alice.says(group, "@presagio_bot a mention")
    await alice.says(group, "not /first")
    await alice.says(group, "/p@other_bot x")
    await alice.says(group, "to a person", reply_to=first)
    await alice.says(group, "/p x")
    await alice.says(group, "/p@Presagio_Bot x")
    await alice.says(group, "to the bot", reply_to=bots)
    assert heard(telegram) == ["/p x", "/p@Presagio_Bot x", "to the bot"]


@pytest.mark.parametrize(
    "open_to", [{"privacy_mode": False}, {"privacy_mode": True, "bot_status": "administrator"}]
)
async def test_a_bot_hears_everything_without_privacy_mode_or_as_administrator(
    telegram: TelegramServer, alice: User, open_to: dict[str, Any]
) -> None:
    group = telegram.group("News", admins=[alice], **open_to)
    await alice.says(group, "small talk")
    await alice.says(group, "/p@other_bot x")
    assert heard(telegram) == ["small talk", "/p@other_bot x"]
