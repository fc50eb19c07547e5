"""Writes replies as wrapped plain text, with colours on a terminal."""

import io
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TextIO

from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.reply import LONGEST_SMALL, HitView, Reply

if TYPE_CHECKING:
    from rich.console import Console

# Control characters (escape sequences begin with one), lone surrogates, and the marks that
# reverse the text direction. Joiners, which emoji and some scripts need, are kept.
_HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_LINE_END = re.compile("\r\n|[\r\u2028\u2029]")


def printable(text: str) -> str:
    """Return `text` with every harmful character shown as U+FFFD.

    Line ends of all kinds become "\\n" and tabs become spaces.
    """
    return _HARMFUL.sub("\ufffd", _LINE_END.sub("\n", text.replace("\t", " ")))


Style = Literal["plain", "headline", "facts", "notice", "link"]
_INDENT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line of printable text, indented by `indent` columns, also where it is wrapped."""

    text: str
    style: Style = "plain"
    indent: int = 0


def layout(reply: Reply) -> Iterator[Line]:
    """Yield the lines of a reply, top to bottom."""
    if reply.headline:
        yield from _lines(reply.headline, "headline")
    if reply.text:
        yield from _lines(reply.text)
    if reply.notice:
        yield from _lines(reply.notice, "notice")
    for hit in reply.hits:
        yield Line("")
        yield from _hit(hit, reply.words)
    for item in reply.items:
        yield Line("")
        yield from _lines(item.headline, "headline")
        yield from _hit(item.hit, reply.words)
    if reply.buttons:
        labels = (button.label for row in reply.buttons for button in row)
        numbered = (f":{number} {label}" for number, label in enumerate(labels, start=1))
        yield Line("")
        yield from _lines("   ".join(numbered))


def _hit(hit: HitView, words: Words) -> Iterator[Line]:
    if hit.small:
        text = cut(" ".join(hit.text.split()), LONGEST_SMALL)
        said = " · ".join((*hit.introduction, hit.date_text, *hit.marks(words)))
        yield from _lines(f"{hit.rank}. {said}: {text}")
        return
    facts = [part for part in (hit.age, hit.date_text) if part]
    facts += [*_author(hit), *hit.marks(words)]
    yield from _lines(f"{hit.rank}. {' · '.join(facts)}", "facts")
    yield from _lines(hit.text, indent=_INDENT)
    if reason := hit.reason(words):
        yield from _lines(reason, "notice", indent=_INDENT)
    if hit.url:
        yield from _lines(hit.url, "link", indent=_INDENT)


def _author(hit: HitView) -> tuple[str, ...]:
    return (hit.signature,) if hit.signature else ()


def _lines(text: str, style: Style = "plain", *, indent: int = 0) -> Iterator[Line]:
    for line in printable(text).split("\n"):
        said = line.lstrip(" ")  # what continues on the next line stands below its beginning
        yield Line(said, style, indent + len(line) - len(said))


_NARROWEST = 20
_STYLES: dict[Style, str] = {
    "plain": "",
    "headline": "bold",
    "facts": "cyan",
    "notice": "yellow",
    "link": "blue",
}


class Screen:
    """A stream to write replies to; `width` is in columns, by default the terminal's."""

    def __init__(self, stream: TextIO, *, width: int | None = None) -> None:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an emoji must not crash the program
        self._stream = stream
        self._width = max(width or shutil.get_terminal_size().columns, _NARROWEST)
        self._terminal = stream.isatty()
        self._passing = False

    def show(self, reply: Reply) -> None:
        """Write a reply followed by an empty line."""
        if self._passing:
            self._passing = False
            self._stream.write("\r\x1b[K")
        lines = [*layout(reply), Line("")]
        if self._terminal:
            self._write_colours(lines)
        else:
            self._stream.write("".join(f"{_plain(line, self._width)}\n" for line in lines))
        self._stream.flush()

    def pass_by(self, text: str) -> None:
        """On a terminal, show a line that the next output overwrites."""
        if self._terminal:
            self._passing = True
            self._stream.write(f"\r{cut(printable(text), self._width)}\x1b[K")
            self._stream.flush()

    def write(self, text: str) -> None:
        """Write the program's own text unchanged."""
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
    # The terminal wraps links itself, so that they stay clickable.
    room = console.width - line.indent
    rows = [text] if line.style == "link" else text.wrap(console, room, overflow="fold")
    for row in rows:
        console.print(Text(" " * line.indent) + row, soft_wrap=True)
