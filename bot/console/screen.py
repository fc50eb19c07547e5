"""Writes replies: wrapped plain text, and colours where a terminal reads them."""

import io
import shutil
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from bot.console.layout import Line, Style, layout
from bot.reply import Reply

if TYPE_CHECKING:
    from rich.console import Console

_NARROWEST = 20
_STYLES: dict[Style, str] = {
    "plain": "",
    "headline": "bold",
    "facts": "cyan",
    "notice": "yellow",
    "link": "blue",
}


class Screen:
    """A place to write to; `width` in columns, that of the terminal unless given."""

    def __init__(self, stream: TextIO, *, width: int | None = None) -> None:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an emoji must not end the program
        self._stream = stream
        self._width = max(width or shutil.get_terminal_size().columns, _NARROWEST)
        self._terminal = stream.isatty()

    def show(self, reply: Reply) -> None:
        """Write a reply and an empty line."""
        lines = [*layout(reply), Line("")]
        if self._terminal:
            self._write_colours(lines)
        else:
            self._stream.write("".join(f"{_plain(line, self._width)}\n" for line in lines))
        self._stream.flush()

    def write(self, text: str) -> None:
        """Write the program's own words as they are."""
        self._stream.write(text)
        self._stream.flush()

    def _write_colours(self, lines: Iterable[Line]) -> None:
        from rich.console import Console  # noqa: PLC0415 - 50 ms that a pipe does not need

        console = Console(file=self._stream, width=self._width, highlight=False, emoji=False)
        for line in lines:
            _print(line, console)


def _plain(line: Line, width: int) -> str:
    indent = " " * line.indent
    return textwrap.fill(
        line.text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,  # links stay whole
        break_on_hyphens=False,
    )


def _print(line: Line, console: "Console") -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    text = Text(line.text, _STYLES[line.style])
    # A link is left to the terminal to wrap, so that it can be clicked.
    room = console.width - line.indent
    rows = [text] if line.style == "link" else text.wrap(console, room, overflow="fold")
    for row in rows:
        console.print(Text(" " * line.indent) + row, soft_wrap=True)
