"""One of every update that the Telegram stand-in makes, for strangers to read."""

from typing import Any

from tests.fakes.telegram import Chat, TelegramServer
from tests.fakes.telegram.methods import HANDLERS


async def every_update(telegram: TelegramServer) -> list[dict[str, Any]]:
    """Payloads, in order of their ids; the bot asked to see everything."""
    telegram.world.inline_feedback = True
    alice = telegram.user("Alice", language="es", username="alice")
    private = telegram.private_chat(alice)
    group = telegram.group("News", admins=[alice], privacy_mode=False)
    forum = telegram.group(
        "Forum", admins=[alice], forum=True, privacy_mode=False, username="forum"
    )
    basic = telegram.group("Basic", admins=[alice], basic=True, username="basic")
    channel = telegram.channel("Channel", username="channel")
    first = await alice.says(private, "/start@presagio_bot see bbc.com/news #tag")
    await alice.says(private, "a reply", reply_to=first)
    await alice.edits(first, "other words")
    await alice.sends_photo(private, caption="a caption", origin=channel)
    for origin in (alice, "Somebody", channel, group):
        await alice.forwards(private, "forwarded", origin=origin)
    await alice.sends(private, location={"latitude": 1.5, "longitude": 2.5})
    await alice.says(group, "hidden", anonymous=True)
    await alice.says(group, "thread", reply_to=await alice.says(group, "root"))
    await alice.says(forum, "in a topic", thread=forum.topic("Sport"))
    await channel.posts("a post")
    await _buttons(telegram, private)
    await _inline(telegram, group)
    basic.migrate()
    group.remove_bot()
    group.add_bot(status="administrator")
    await alice.blocks_bot()
    await alice.unblocks_bot()
    return [update.payload() for update in telegram.updates.values()]


async def _buttons(telegram: TelegramServer, chat: Chat) -> None:
    markup = {"inline_keyboard": [[{"text": "Up", "callback_data": "up"}]]}
    sent = {"chat_id": chat.id, "text": "<b>x</b>", "parse_mode": "HTML", "reply_markup": markup}
    HANDLERS["sendMessage"](telegram.world, sent)
    await telegram.world.users[chat.id].presses(chat.messages[-1], "Up")


async def _inline(telegram: TelegramServer, chat: Chat) -> None:
    bob = telegram.user("Bob")
    query = await bob.asks_inline("man bites dog", where="supergroup")
    content = {"message_text": "found"}
    article = {"type": "article", "id": "1", "title": "t", "input_message_content": content}
    markup = {"inline_keyboard": [[{"text": "Up", "callback_data": "up"}]]}
    results = [article | {"reply_markup": markup}]
    answer = {"inline_query_id": query.id, "results": results}
    HANDLERS["answerInlineQuery"](telegram.world, answer)
    await bob.presses(await bob.chooses(query, 0, chat), "Up")
