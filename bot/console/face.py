"""The terminal as one more platform; implements bot.face.Face."""

import asyncio
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from bot.console.screen import Screen
from bot.reply import Action, Reply
from bot.request import Request

PLATFORM = "console"
_PRESS = re.compile(r":([0-9]{1,3})")


class ConsoleFace:
    """Shows replies on a screen. Buttons are numbered, and typed to be pressed: ":2"."""

    platform = PLATFORM

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._buttons: tuple[Action, ...] = ()

    async def show_busy(self, request: Request) -> None:
        """Do nothing: the prompt comes back when the answer is there."""

    async def deliver(self, request: Request, reply: Reply) -> None:  # noqa: ARG002 - there is one place
        """Write the reply, and remember its buttons."""
        if reply.picture:
            place = await asyncio.to_thread(_kept, reply.picture)
            reply = replace(reply, text="\n".join(filter(None, (reply.text, str(place)))))
        if reply.buttons:
            self._buttons = tuple(button.action for row in reply.buttons for button in row)
        self._screen.show(replace(reply, text=reply.text or reply.toast))

    def pressed(self, line: str) -> str | None:
        """Return what the button asks for that a line presses; None when it presses none."""
        found = _PRESS.fullmatch(line.strip())
        if found is None:
            return None
        number = int(found[1])
        # What no button stands behind is passed on as it is, and told to be too old.
        return str(self._buttons[number - 1]) if 0 < number <= len(self._buttons) else line


def _kept(picture: bytes) -> Path:
    """Return where the picture was written."""
    with tempfile.NamedTemporaryFile(prefix="presagio-", suffix=".png", delete=False) as file:
        file.write(picture)
    return Path(file.name)
