"""Takes a backup: the whole database in one file of pg_dump."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from db.backup.programs import environment, running
from engine.errors import InputError
from engine.messages import Message

_SIGN_SECONDS = 0.2  # between two progress reports


async def dump(url: str, file: Path, *, progress: Callable[[int], None]) -> int:
    """Write the database of `url` to `file` and return its size in bytes.

    The file appears under its name only when complete, and only its owner may read it. It is a
    snapshot of one moment, even if others are writing. `progress` receives the number of bytes
    written. Raises storage errors, and InputError if the file cannot be written.
    """
    try:
        return await _dump(url, file, progress)
    except OSError as error:
        raise InputError(
            Message("{file} cannot be written: {reason}.", file=file, reason=error.strerror)
        ) from error


async def _dump(url: str, file: Path, progress: Callable[[int], None]) -> int:
    with _unfinished(file) as part:
        arguments = ("--format=custom", "--no-password", f"--file={part}")
        async with running("pg_dump", *arguments, within=environment(url)) as program:
            ended = asyncio.create_task(program.end())
            while not (await asyncio.wait({ended}, timeout=_SIGN_SECONDS))[0]:
                progress(part.stat().st_size)
            await ended
        with part.open("rb") as whole:
            os.fsync(whole.fileno())
        size = part.stat().st_size
        part.replace(file)
    return size


@contextmanager
def _unfinished(file: Path) -> Iterator[Path]:
    """Yield an empty file beside `file`, which is removed unless the block renames it."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
