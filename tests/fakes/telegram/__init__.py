"""A stand-in for Telegram's Bot API server, over real sockets on loopback.

    async with TelegramServer() as telegram:
        bot = ApplicationBuilder().token(telegram.token)
        bot = bot.base_url(telegram.base_url).base_file_url(telegram.base_file_url)
        ...
        alice = telegram.user("Alice", language="es")
        chat = telegram.private_chat(alice)
        asked = await alice.says(chat, "Man bites dog")
        answer = await asked.answer()          # waits; AssertionError when none comes
        press = await alice.presses(answer, "👍")
        assert (await press.answered()).text == "Thanks"
        assert telegram.errors == []           # every parameter of every request was known

Real clients talk to it; tests act as the people in the chats and look at what these see.

It refuses what Telegram refuses, in Telegram's words: see `methods/` for the limits. In three
things it is stricter: HTML attributes without meaning, keyboard rows of more than eight buttons,
and unknown parameters, which are carried out but noted in `errors`. It knows the methods that the
bot calls; another one is a 404, noted too. It speaks HTML only and never opens a connection beyond
loopback.
"""

from tests.fakes.telegram.chats import Chat, Topic
from tests.fakes.telegram.endpoint import Call
from tests.fakes.telegram.errors import Refusal
from tests.fakes.telegram.files import png
from tests.fakes.telegram.limits import RateLimits
from tests.fakes.telegram.messages import Message
from tests.fakes.telegram.people import User
from tests.fakes.telegram.queries import InlineAnswer, InlineQuery, Press, PressAnswer
from tests.fakes.telegram.server import TelegramServer
from tests.fakes.telegram.updates import Update

__all__ = [
    "Call",
    "Chat",
    "InlineAnswer",
    "InlineQuery",
    "Message",
    "Press",
    "PressAnswer",
    "RateLimits",
    "Refusal",
    "TelegramServer",
    "Topic",
    "Update",
    "User",
    "png",
]
