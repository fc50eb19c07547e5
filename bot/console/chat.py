"""A conversation in the terminal, with the handlers that every chat platform uses."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime

from bot.console.face import PLATFORM, ConsoleFace
from bot.console.screen import Screen
from bot.conversation.conversation import Conversation
from bot.face.request import Person, Place, Request, Trigger
from bot.i18n.words import words_for

_PROMPT = "> "


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Who sits where. `session` is different each time; `interactive`: both ends are a terminal."""

    session: str
    language: str
    interactive: bool
    chat_id: str = "console"


async def run_terminal(
    conversation: Conversation,
    terminal: Terminal,
    *,
    lines: AsyncIterator[str],
    screen: Screen,
    now: Callable[[], datetime],
) -> None:
    """Answer line after line until the input ends. A terminal gets a welcome and a prompt."""
    face, number = ConsoleFace(screen), 0
    if terminal.interactive:
        words = words_for(terminal.language)
        screen.write(
            words.say(
                "Type a headline. /help lists what else I understand; :1 presses the first"
                " button; Ctrl-D ends."
            )
            + "\n\n"
        )
    try:
        while (line := await _next(lines, screen, terminal.interactive)) is not None:
            number += 1
            await conversation.answer(_request(line, number, face, terminal, now()), face)
    finally:
        if terminal.interactive:
            screen.write("\n")  # leave the line of the prompt, after Ctrl-C too


def _request(
    line: str, number: int, face: ConsoleFace, terminal: Terminal, now: datetime
) -> Request:
    pressed = face.pressed(line)
    return Request(
        event_id=f"{terminal.session}:{number}",
        place=Place(platform=PLATFORM, chat_id=terminal.chat_id, private=True),
        person=Person(id=terminal.chat_id, language=terminal.language),
        trigger=Trigger.ADDRESSED if pressed is None else Trigger.BUTTON,
        text=line if pressed is None else pressed,
        now=now,
    )


async def _next(lines: AsyncIterator[str], screen: Screen, interactive: bool) -> str | None:
    if interactive:
        screen.write(_PROMPT)
    return await anext(lines, None)
