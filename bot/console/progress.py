"""Progress of long work: a bar on a terminal, nothing elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def progress_bar(
    stream: TextIO, label: str, total: int | None
) -> Iterator[Callable[[int, str], None]]:
    """Lend a function that is told how much of `total` is done, and a remark beside the bar.

    `total` None shows work without an end.
    """
    if not stream.isatty():
        yield _ignore
        return
    from rich.console import Console  # noqa: PLC0415 - 50 ms that a pipe does not need
    from rich.progress import (  # noqa: PLC0415
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
    """Take the progress of work that nobody watches."""
