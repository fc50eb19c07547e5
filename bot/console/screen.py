"""Writes replies as wrapped plain text, and the results, remarks and progress of commands."""

import csv
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TextIO

import orjson

from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.reply import LONGEST_SMALL, HitView, Reply
from engine.text.clean import guard_cell

if TYPE_CHECKING:
    from rich.console import Console

# Control characters (escape sequences begin with one), lone surrogates, and the marks that
# reverse the text direction. Joiners, which emoji and some scripts need, are kept.
_HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_LINE_END = re.compile("\r\n|[\r\u2028\u2029]")

Style = Literal["plain", "headline", "facts", "notice", "link"]
_INDENT = 3

_NARROWEST = 20
_STYLES: dict[Style, str] = {
    "plain": "",
    "headline": "bold",
    "facts": "cyan",
    "notice": "yellow",
    "link": "blue",
}


def make_printable(text: str) -> str:
    """Return `text` with every harmful character shown as U+FFFD.

    Line ends of all kinds become "\\n" and tabs become spaces.
    """
    return _HARMFUL.sub("\ufffd", _LINE_END.sub("\n", text.replace("\t", " ")))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of printable text, indented by `indent` columns, also where it is wrapped."""

    text: str
    style: Style = "plain"
    indent: int = 0
    mark: str = ""  # in place of the first indent


def lay_out(reply: Reply) -> Iterator[Line]:
    """Yield the lines of a reply, top to bottom."""
    if reply.headline:
        yield from _split_lines(reply.headline, "headline")
    if reply.text:
        yield from _split_lines(reply.text)
    if reply.notice:
        yield from _split_lines(reply.notice, "notice")
    for hit in reply.hits:
        yield Line("")
        yield from _lay_out_hit(hit, reply.words)
    for item in reply.items:
        yield Line("")
        yield from _split_lines(item.headline, "headline")
        yield from _lay_out_hit(item.hit, reply.words)
    if reply.buttons:
        labels = (button.label for row in reply.buttons for button in row)
        numbered = (f":{number} {label}" for number, label in enumerate(labels, start=1))
        yield Line("")
        yield from _split_lines("   ".join(numbered))


def _lay_out_hit(hit: HitView, words: Words) -> Iterator[Line]:
    if hit.small:
        text = cut(" ".join(hit.text.split()), LONGEST_SMALL)
        facts_line = " · ".join(filter(None, (*hit.introduction, hit.date_text, *hit.marks(words))))
        yield from _number_lines(hit.rank, f"{facts_line}: {text}" if facts_line else text)
        return
    facts = (hit.age, hit.date_text, hit.signature, *hit.marks(words))
    yield from _number_lines(hit.rank, " · ".join(filter(None, facts)), "facts")
    yield from _split_lines(hit.text, indent=_INDENT)
    for said in hit.remarks(words):
        yield from _split_lines(said, "notice", indent=_INDENT)
    if hit.url:
        yield from _split_lines(hit.url, "link", indent=_INDENT)


def _number_lines(rank: int, text: str, style: Style = "plain") -> Iterator[Line]:
    mark = f"{rank}. "
    first, *others = _split_lines(text, style, indent=len(mark))
    yield replace(first, mark=mark)
    yield from others


def _split_lines(text: str, style: Style = "plain", *, indent: int = 0) -> Iterator[Line]:
    for line in make_printable(text).split("\n"):
        text = line.lstrip(" ")  # what continues on the next line stands below its beginning
        yield Line(text, style, indent + len(line) - len(text))


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
        lines = [*lay_out(reply), Line("")]
        if self._terminal:
            from rich.console import Console  # noqa: PLC0415 - 50 ms that a pipe does not need

            console = Console(file=self._stream, width=self._width, highlight=False, emoji=False)
            for line in lines:
                _print(line, console)
        else:
            self._stream.write("".join(f"{_wrap_line(line, self._width)}\n" for line in lines))
        self._stream.flush()

    def pass_by(self, text: str) -> None:
        """On a terminal, show a line that the next output overwrites."""
        if self._terminal:
            self._passing = True
            self._stream.write(f"\r{cut(make_printable(text), self._width)}\x1b[K")
            self._stream.flush()

    def write(self, text: str) -> None:
        """Write the program's own text unchanged."""
        self._stream.write(text)
        self._stream.flush()


def _wrap_line(line: Line, width: int) -> str:
    indent = " " * line.indent
    return textwrap.fill(
        line.text,
        width,
        initial_indent=line.mark or indent,
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
    begin = Text(line.mark or " " * line.indent, text.style)
    for row in rows:
        console.print(begin + row, soft_wrap=True)
        begin = Text(" " * line.indent)


@dataclass(frozen=True, slots=True)
class Output:
    """Both streams of a command."""

    results: TextIO
    remarks: TextIO

    @classmethod
    def of_process(cls) -> "Output":
        """Return the standard streams of the process."""
        return cls(sys.stdout, sys.stderr)

    def show(self, reply: Reply) -> None:
        """Write an answer."""
        Screen(self.results).show(reply)

    def line(self, text: str = "") -> None:
        """Write a line of the result."""
        Screen(self.results).write(f"{make_printable(text)}\n")

    def json(self, value: object) -> None:
        """Write one JSON object on one line, in UTF-8 whatever the stream's encoding."""
        self.exact(f"{orjson.dumps(value).decode()}\n")

    def tell(self, row: object, text: str, *, json: bool) -> None:
        """Write a result as one JSON object, or as a line of text."""
        if json:
            self.json(row)
        else:
            self.line(text)

    def exact(self, text: str) -> None:
        """Write text for another program, unchanged and in UTF-8."""
        screen = Screen(self.results)
        if isinstance(self.results, io.TextIOWrapper):
            self.results.reconfigure(encoding="utf-8")
        screen.write(text)

    def csv(self, rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
        """Write rows as a CSV, in which no cell is a formula; lists have blanks between them."""
        table = io.StringIO()
        lines = ([_csv_cell(row.get(name)) for name in columns] for row in rows)
        csv.writer(table, quoting=csv.QUOTE_ALL).writerows([columns, *lines])
        self.exact(table.getvalue())

    def remark(self, text: str) -> None:
        """Write a message to the user that is not part of the result."""
        Screen(self.remarks).write(f"{make_printable(text)}\n")

    def table(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Write rows with the same keys as aligned columns under their names."""
        if not rows:
            return
        cells = [list(rows[0]), *([_format_cell(value) for value in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for line in cells:
            padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            self.line("  ".join(padded).rstrip())

    def rows(
        self,
        rows: Sequence[Mapping[str, object]],
        *,
        json: bool,
        none: str,
        csv: bool = False,
        table: Sequence[Mapping[str, object]] | None = None,
    ) -> None:
        """Write rows as lines of JSON, as CSV or as a table, or the remark `none` for an empty one.

        `table` is the rows as a table has them, where it differs from the JSON.
        """
        if json:
            for row in rows:
                self.json(row)
        elif rows and csv:
            self.csv(rows, list(rows[0]))
        elif rows:
            self.table(rows if table is None else table)
        else:
            self.remark(none)


def _csv_cell(value: object) -> str:
    return guard_cell(" ".join(map(str, value)) if isinstance(value, list) else value)


def _format_cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value or "-")


@contextmanager
def progress_bar(
    stream: TextIO, label: str, total: int | None
) -> Iterator[Callable[[int, str], None]]:
    """Show a progress bar and yield a function to update it with the amount done and a remark.

    With `total` None the bar has no end.
    """
    if not stream.isatty():
        yield lambda done, remark: None  # noqa: ARG005 - as below
        return
    from rich.console import Console  # noqa: PLC0415 - 50 ms that a pipe does not need
    from rich.progress import (  # noqa: PLC0415 - the same
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[remark]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task(label, total=total, remark="")
        yield lambda done, remark: progress.update(
            task, completed=done, remark=make_printable(remark)
        )
