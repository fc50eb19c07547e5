"""Channels: subscribed in private by their admins, and commanded from within."""

import pytest

from db.chat.chats import Chats
from db.pool import Database
from db.posting.subscriptions import Subscriptions
from engine.posting.delivery import PostingMode, Subscription
from tests.bot.telegram.serving import Start, running
from tests.fakes.telegram import Chat, Message, TelegramServer, User


def plain(message: Message) -> str:
    """What a message says, without what keeps names from being mentions."""
    return message.text.replace("\u2060", "")


async def subscription(storage: Database, channel: Chat) -> Subscription | None:
    known = await Chats(storage).find_chat("telegram", str(channel.id))
    return await Subscriptions(storage).get(known) if known else None


async def test_a_command_is_understood_as_the_bot_wrote_it(
    start: Start, telegram: TelegramServer, alice: User, chat: Chat
) -> None:
    telegram.channel("News", username="our_news", admins=[alice])
    async with running(start()):
        copied = "/settings @\u2060our_news language es"
        answer = await (await alice.says(chat, copied)).answer()
        assert plain(answer).startswith("@our_news: idioma: es ")


@pytest.mark.parametrize("by", ["name", "number"])
async def test_an_admin_subscribes_a_channel_in_private(
    start: Start, storage: Database, telegram: TelegramServer, alice: User, chat: Chat, by: str
) -> None:
    channel = telegram.channel("News", username="our_news", admins=[alice])
    name = "@our_news" if by == "name" else str(channel.id)
    async with running(start()):
        said = await alice.says(chat, f"/subscribe {name} daily 8:30 silent on")
        answer = await said.answer()
        assert plain(answer).startswith(f"{name}: Every day at 8:30 (UTC) I post the best 3")
        assert answer.buttons == []
        assert (found := await subscription(storage, channel))
        assert (found.mode, found.silent, found.chat.private) == (PostingMode.DAILY, True, False)
        assert await subscription(storage, chat) is None
    assert channel.bot_messages == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/subscribe @others daily", "Only admins of @others may do that."),
        ("/subscribe @mute_news daily", "I may not post in @mute_news."),
        ("/subscribe @nowhere daily", "I cannot see @nowhere."),
        ("/subscribe @friends_group daily", "@friends_group is no channel."),
    ],
)
async def test_refused_channel_subscription_explains_why(
    start: Start,
    storage: Database,
    telegram: TelegramServer,
    alice: User,
    chat: Chat,
    command: str,
    why: str,
) -> None:
    others = telegram.channel("Others", username="others", admins=[telegram.user("Bob")])
    telegram.channel("Mute", username="mute_news", admins=[alice], bot_posts=False)
    telegram.group("Friends", members=[alice], username="friends_group")
    async with running(start()):
        assert why in plain(await (await alice.says(chat, command)).answer())
    assert await subscription(storage, others) is None


async def test_a_channel_takes_commands_and_ignores_its_posts(
    start: Start, storage: Database, telegram: TelegramServer, alice: User
) -> None:
    channel = telegram.channel("News", username="our_news", admins=[alice])
    async with running(start()):
        await channel.posts("Coffee prices soar")
        await channel.posts("/subscribe instant")
        await channel.until(lambda one: one.from_bot and "Every day, as soon as" in one.text)
    assert len(channel.bot_messages) == 1
    assert (await subscription(storage, channel)) is not None
