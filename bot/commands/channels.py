"""Commands about a channel that one of its admins writes in private: `/subscribe @channel ...`."""

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

from bot.commands.services import Services
from bot.face.reply import Reply, aside
from bot.face.request import Request
from engine.corpora import meant_corpora
from engine.errors import SeveralCorpora, UsageError

_MOST_NAMED = 5  # archives
# The name of a public channel, or the number of a private one.
_CHANNEL = re.compile(r"(?:@[A-Za-z]\w{3,31}|-100\d{5,15})(?!\S)", re.ASCII)


def aimed(request: Request, text: str) -> tuple[str, str]:
    """Return the channel that a command's argument begins with, or "", and what follows it."""
    found = _CHANNEL.match(text) if request.place.private else None
    return (found[0], text[found.end() :].strip()) if found else ("", text)


async def answer_about(
    name: str,
    request: Request,
    handler: Callable[[Request, Services], Awaitable[Reply | None]],
    services: Services,
    *,
    commands: Collection[str] = (),
) -> Reply | None:
    """Answer a command about a channel where it was asked.

    `commands` that the answer names are shown as they are written about that channel. Raises
    UsageError if the asker or the bot may not post there.
    """
    place, words = await request.find_channel(name), request.words
    if place is None:
        return aside(request, words.say("There are no such channels here."))
    if not services.serves(f"{place.platform}:{place.chat_id}"):
        return aside(request, words.say("I do not work in {name}.", name=name))
    chat = await services.chats.meet(
        place.platform,
        place.chat_id,
        private=False,
        title=place.title,
        asked_in=words.language,
    )
    try:
        reply = await handler(replace(request, chat=chat), services)
    except SeveralCorpora:
        return aside(request, await _which(name, request, services))
    except UsageError as error:
        return aside(request, _about(name, words.render(error.said), commands))
    if reply is None:
        return aside(request, words.say("It goes to {name}.", name=name))
    # Its buttons would be about the chat that they are pressed in.
    return replace(reply, text=_about(name, reply.text or "", commands), buttons=())


def _about(name: str, text: str, commands: Collection[str]) -> str:
    """Return an answer about a channel, as it is to be read in private."""
    if commands:
        text = re.sub(rf"(?<!\S)/({'|'.join(commands)})\b", rf"/\1 {name}", text)
    return f"{name}: {text}".strip()


async def _which(name: str, request: Request, services: Services) -> str:
    """Return how to choose the channel's archive: a button would choose that of this chat."""
    fitting = meant_corpora(await services.corpora(), configured=services.corpus)
    return request.words.say(
        "There are several archives. Choose that of {name} first: {commands}",
        name=name,
        commands=", ".join(f"/corpus {name} {one.name}" for one in fitting[:_MOST_NAMED]),
    )
