"""A conversation in the terminal, with the handlers that every chat platform uses."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime

from bot.commands.registry import Registry, Request, Services
from bot.console.screen import Screen

_WELCOME = "Type a headline. /help lists what else I understand; Ctrl-D ends.\n\n"
_PROMPT = "> "


async def chat(
    commands: Registry,
    services: Services,
    *,
    lines: AsyncIterator[str],
    screen: Screen,
    now: Callable[[], datetime],
    interactive: bool,
) -> None:
    """Answer line after line until the input ends.

    `interactive` (both ends are a terminal) adds a welcome and a prompt.
    """
    if interactive:
        screen.write(_WELCOME)
    try:
        while (line := await _next(lines, screen, interactive)) is not None:
            if line.strip():
                request = Request(
                    text=line,
                    conversation_id="console",
                    user_id="console",
                    language="en",
                    now=now(),
                )
                screen.show(await commands.answer(request, services))
    finally:
        if interactive:
            screen.write("\n")  # leave the line of the prompt, after Ctrl-C too


async def _next(lines: AsyncIterator[str], screen: Screen, interactive: bool) -> str | None:
    if interactive:
        screen.write(_PROMPT)
    return await anext(lines, None)
