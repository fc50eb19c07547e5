"""Where commands write: results to stdout, everything else to stderr."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import orjson

from bot.console.screen import Screen, printable
from bot.reply import Reply


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
        Screen(self.results).write(f"{printable(text)}\n")

    def json(self, value: object) -> None:
        """Write one JSON object on one line, in UTF-8 whatever the stream's encoding."""
        self.exact(f"{orjson.dumps(value).decode()}\n")

    def exact(self, text: str) -> None:
        """Write text for another program, unchanged and in UTF-8."""
        screen = Screen(self.results)
        if isinstance(self.results, io.TextIOWrapper):
            self.results.reconfigure(encoding="utf-8")
        screen.write(text)

    def remark(self, text: str) -> None:
        """Write a message to the user that is not part of the result."""
        Screen(self.remarks).write(f"{printable(text)}\n")

    def table(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Write rows with the same keys as aligned columns under their names."""
        if not rows:
            return
        cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            self.line(_aligned(row, widths))

    def measures(
        self, measures: Mapping[str, object], rows: Sequence[Mapping[str, object]]
    ) -> None:
        """Write measures, one on a line, and the rows that they sum up."""
        for name, value in measures.items():
            self.line(f"{name}: {_figure(value)}")
        self.line()
        self.table([{name: _figure(value) for name, value in row.items()} for row in rows])

    def rows(
        self,
        rows: Sequence[Mapping[str, object]],
        *,
        json: bool,
        none: str,
        shown: Sequence[Mapping[str, object]] | None = None,
    ) -> None:
        """Write rows as lines of JSON or as a table, or the remark `none` for an empty table.

        `shown` is the rows as the table shows them, where it differs from the JSON.
        """
        if json:
            for row in rows:
                self.json(row)
        elif rows:
            self.table(rows if shown is None else shown)
        else:
            self.remark(none)


def _figure(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_figure(part)}" for name, part in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value or "-")


def _aligned(row: Iterable[str], widths: Iterable[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join(padded).rstrip()


@contextmanager
def progress_bar(
    stream: TextIO, label: str, total: int | None
) -> Iterator[Callable[[int, str], None]]:
    """Show a progress bar and yield a function to update it with the amount done and a remark.

    With `total` None the bar has no end.
    """
    if not stream.isatty():
        yield _ignore
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
        yield lambda done, remark: progress.update(task, completed=done, remark=remark)


def _ignore(done: int, remark: str) -> None:
    """Ignore progress when there is no terminal to show it."""
