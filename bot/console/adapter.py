"""The terminal as a platform: reads lines, runs the conversation and shows replies."""

import asyncio
import os
import re
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from bot.console.screen import Screen
from bot.conversation.conversation import Conversation
from bot.i18n.words import words_for
from bot.reply import Action, Reply
from bot.request import Person, Place, Request, Trigger

_READ_AHEAD = 16
_CHUNK = 65_536

PLATFORM = "console"
_PRESS = re.compile(r":([0-9]{1,3})")

_PROMPT = "> "
_ENDS = ("/quit", "/exit")
_ENDS_TYPED = (*_ENDS, "quit", "exit", "salir")  # by who does not know Ctrl-D


async def read_lines(descriptor: int) -> AsyncIterator[str]:
    """Yield the lines of a file descriptor until its end, as UTF-8 with bad bytes replaced.

    A daemon thread reads the descriptor directly: a pool thread blocked on a line would delay the
    exit after Ctrl-C, and a daemon thread reading sys.stdin would hold its lock at exit.
    """
    loop = asyncio.get_running_loop()
    ready: asyncio.Queue[str | None] = asyncio.Queue()
    room = threading.Semaphore(_READ_AHEAD)

    def pump_lines() -> None:
        with suppress(RuntimeError):  # the loop is closed
            for line in _read_lines(descriptor):
                room.acquire()
                loop.call_soon_threadsafe(ready.put_nowait, line.decode("utf-8", "replace"))
            loop.call_soon_threadsafe(ready.put_nowait, None)

    threading.Thread(target=pump_lines, daemon=True).start()
    while (line := await ready.get()) is not None:
        room.release()
        yield line


def _read_lines(descriptor: int) -> Iterator[bytes]:
    pending = b""
    while chunk := _read_chunk(descriptor):
        *lines, pending = (pending + chunk).split(b"\n")
        yield from lines
    if pending:
        yield pending


def _read_chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""  # a closed terminal ends the input


class ConsoleAdapter:
    """Shows replies on a screen. Buttons are numbered; typing ":2" presses the second."""

    platform = PLATFORM

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._buttons: tuple[Action, ...] = ()

    async def show_busy(self, request: Request) -> None:
        """Do nothing: the prompt returns when the answer is there."""

    async def show_step(self, request: Request, text: str, shown: str | None) -> str | None:  # noqa: ARG002 - there is one place
        """Show a slow answer's step on a terminal, in a line that the answer overwrites."""
        self._screen.pass_by(text)
        return None

    async def change(self, request: Request, message: str, reply: Reply) -> str:
        """Show the reply below what was printed."""
        await self.deliver(request, reply)
        return message

    async def delete(self, request: Request, message: str) -> None:
        """Do nothing: what is printed stays."""

    async def deliver(self, request: Request, reply: Reply) -> None:
        """Write the reply. Only buttons of the newest message can be pressed, and what a press is
        answered with belongs to it."""
        if reply.writes is not None:  # what is written follows
            self._screen.pass_by(reply.text or "")
            return
        if reply.picture:
            path = Path(tempfile.mkdtemp(prefix="presagio-")) / reply.picture_name
            await asyncio.to_thread(path.write_bytes, reply.picture)
            reply = replace(reply, text="\n".join(filter(None, (reply.text, str(path)))))
        if reply.buttons or request.trigger is not Trigger.BUTTON:
            self._buttons = tuple(button.action for row in reply.buttons for button in row)
        self._screen.show(replace(reply, text=reply.text or reply.toast))

    def find_pressed_action(self, line: str) -> str | None:
        """Return the action of the button that the line presses, or None if it presses none."""
        match = _PRESS.fullmatch(line.strip())
        if match is None:
            return None
        number = int(match[1])
        # An unknown number is passed on unchanged and answered as a button that is too old.
        return str(self._buttons[number - 1]) if 0 < number <= len(self._buttons) else line


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """One terminal session. `session` is unique; `interactive` means that both ends are a TTY."""

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
    """Answer each line until the input ends. On a TTY, show a welcome and a prompt."""
    adapter, number = ConsoleAdapter(screen), 0
    if terminal.interactive:
        words = words_for(terminal.language)
        screen.write(
            words.say(
                "Type a headline. /help lists what else I understand; :1 presses the first"
                " button; /quit ends."
            )
            + "\n\n"
        )
    ends = _ENDS_TYPED if terminal.interactive else _ENDS
    try:
        while True:
            if terminal.interactive:
                screen.write(_PROMPT)
            line = await anext(lines, None)
            if line is None or line.strip().lower() in ends:
                break
            number += 1
            await conversation.answer(
                _build_request(line, number, adapter, terminal, now()), adapter
            )
            await conversation.wait_for_compositions()
    finally:
        if terminal.interactive:
            screen.write("\n")  # end the prompt's line, after Ctrl-C too


def _build_request(
    line: str, number: int, adapter: ConsoleAdapter, terminal: Terminal, now: datetime
) -> Request:
    pressed = adapter.find_pressed_action(line)
    return Request(
        event_id=f"{terminal.session}:{number}",
        place=Place(platform=PLATFORM, chat_id=terminal.chat_id, private=True),
        person=Person(id=terminal.chat_id, language=terminal.language),
        trigger=Trigger.ADDRESSED if pressed is None else Trigger.BUTTON,
        text=line if pressed is None else pressed,
        now=now,
    )
