"""Reads sources in a separate process, which may hang, grow and die because of a file.

A file that takes too much time or memory, or kills the process, is a reject; a new process reads
the files after it, starting at the beginning of the latest batch. Reading stops where all files
together take too much.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import IO, TypeVar

from engine.corpora import Document
from engine.errors import InputError
from engine.ingest.files import StandardInput
from engine.ingest.load import Batch, BatchLost
from engine.ingest.records import (
    DOCUMENTS,
    FILE,
    INPUT,
    Bookmark,
    Contents,
    Defaults,
    OpenedSource,
    ReadBatch,
    Reject,
    TableLayout,
    UnreadFile,
)
from engine.isolation.process import Ending, Limits, Worker, WorkerEnded
from engine.isolation.worker import pack_order, unpack, unpack_refusal
from engine.messages import Message, join_messages
from engine.settings.fetching import IngestSettings
from engine.values import Closable, Kind

_DESK = "engine.ingest.worker:Desk"  # named, as importing it imports every format
_PATIENCE = 600.0
_Answer = TypeVar("_Answer")
_LARGEST_BATCH = 1 << 28  # bytes of documents as JSON; each document may repeat a long title


class ReadingCost:
    """What reading all sources has cost so far."""

    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        self._seconds_of_ended = 0.0  # processor time of processes that have ended
        self._seconds_of_running = 0.0
        self._bytes_read = 0  # as they lie on the disk
        self._bytes_new = 0  # unpacked, of batches in which not everything is stored already
        self.files_given_up = 0

    def add_batch(self, *, seconds_used: float, bytes_read: int) -> None:
        """Count a batch, given the processor time of the process so far."""
        self._seconds_of_running = seconds_used
        self._bytes_read += bytes_read

    def add_end(self, seconds: float) -> None:
        """Count the process, which has ended over an order that it had for so many seconds."""
        self._seconds_of_ended += self._seconds_of_running + seconds
        self._seconds_of_running = 0.0

    def add_new_bytes(self, size: int) -> None:
        """Count the unpacked bytes of a batch in which something is new."""
        self._bytes_new += size

    def excess(self, source: str) -> InputError | None:
        """Return why no more of the source is read, or None if it is."""
        settings = self._settings
        seconds = self._seconds_of_ended + self._seconds_of_running
        maximum = settings.total_minutes * 60
        maximum += self._bytes_read / 1e6 * settings.total_seconds_per_megabyte
        if seconds > maximum:
            return InputError(
                Message(
                    "Reading stopped before the end of {source}: all files of a command may take"
                    " {minutes:.1f} minutes of processor time.",
                    source=source,
                    minutes=maximum / 60,
                ),
                fix=self._way_on("total_minutes"),
            )
        if self._bytes_new > settings.total_megabytes * 1_000_000:
            return InputError(
                Message(
                    "Reading stopped before the end of {source}: all files of a command may bring"
                    " {megabytes:,} MB that are not stored yet.",
                    source=source,
                    megabytes=settings.total_megabytes,
                ),
                fix=self._way_on("total_megabytes"),
            )
        return None

    def _way_on(self, setting: str) -> Message:
        goes_on = Message(
            "What is stored stays, and the same command goes on with the rest;"
            " {setting} in [ingest] allows more.",
            setting=setting,
        )
        if not self.files_given_up:
            return goes_on
        tried_again = Message(
            "Files that cannot be read are tried again each time: take them out first ({number}).",
            number=self.files_given_up,
        )
        return join_messages(goes_on, tried_again)


class SourceReader(Closable):
    """Reads sources, one after the other. Use `async with`; the process starts on first use.

    `patience` is how many seconds of wall-clock time may pass without a sign of life.
    """

    def __init__(
        self, settings: IngestSettings | None = None, *, patience: float = _PATIENCE
    ) -> None:
        self.settings = settings or IngestSettings()
        self.worker = Worker(
            Limits(
                patience=patience,
                memory=self.settings.memory_mb * 1_000_000,
                modules=[_DESK.partition(":")[0]],
            )
        )
        self.cost = ReadingCost(self.settings)
        self.open_source: ReadSource | None = None  # the one that the process has open

    async def aclose(self) -> None:
        """End the process."""
        await self.worker.close()

    async def open(
        self,
        where: str,
        *,
        format: str = "auto",  # noqa: A002 - the name of the command's option
        defaults: Defaults | None = None,
        stdin: IO[bytes] | None = None,
        shared: bool = False,
        unread: tuple[UnreadFile, ...] = (),
    ) -> "ReadSource":
        """Open a path (file, folder, zip, gzip), or `stdin` for "-", and detect its format.

        Raises UsageError for a format that does not exist, UnknownFormat if no reader recognises
        the content, InputError if it cannot be read.
        """
        source = ReadSource(
            self, where, format, defaults or Defaults(), stdin, shared=shared, unread=unread
        )
        await source.recognise()
        return source

    async def open_all(
        self,
        where: str,
        *,
        format: str = "auto",  # noqa: A002 - the name of the command's option
        defaults: Defaults | None = None,
        stdin: IO[bytes] | None = None,
    ) -> "list[ReadSource]":
        """Open every export at a path; the first tells what is there and not read.

        Raises as `open` does.
        """
        defaults = defaults or Defaults()
        given = {
            "where": where,
            "format": format,
            "defaults": defaults,
            "seconds": self.settings.seconds,
            "per_megabyte": self.settings.seconds_per_megabyte,
        }
        self.open_source = None
        packed = pack_order(f"{_DESK}.contents", (), given)
        try:
            contents = unpack(Contents, await self.worker.ask(packed, _ignore))
        except WorkerEnded as exc:
            raise _unreadable(where, exc, self.settings) from exc
        unread = contents.unread
        sources = []
        for part in contents.exports:
            sources.append(
                await self.open(
                    part.where,
                    format=part.format,
                    defaults=defaults,
                    stdin=stdin,
                    shared=part.shared,
                    unread=unread,
                )
            )
            sources[-1].is_part = len(contents.exports) > 1
            unread = ()
        return sources


class ReadSource:
    """One source, read batch by batch; a RecordSource. `bytes_read` grows to `total_bytes`."""

    def __init__(
        self,
        reader: SourceReader,
        where: str,
        format: str,  # noqa: A002 - the name of the command's option
        defaults: Defaults,
        stdin: IO[bytes] | None,
        *,
        shared: bool,
        unread: tuple[UnreadFile, ...],
    ) -> None:
        self._reader, self._where, self._defaults = reader, where, defaults
        self._shared, self.unread = shared, unread
        self.is_part = shared  # one of several exports at that path
        self.guesses: tuple[str, ...] = ()
        self._stdin = StandardInput(stdin) if stdin else None
        self.name, self.format, self.kinds = where, format, tuple[Kind, ...]()
        self.total_bytes: int | None = None
        self.table: TableLayout | None = None  # how it is read, if it is a table
        self.bytes_read = 0
        self._stored_to: Bookmark | None = None  # end of the latest batch translated
        self._read_to: Bookmark | None = None  # end of the latest batch read
        self._file: str | None = None  # the file being read
        self._skipped: list[str] = []
        self._untold: list[Reject] = []
        self._over = False
        self._documents: list[Document] = []
        self._size = 0
        self._unpacked = 0  # bytes of the latest batch

    async def recognise(self) -> None:
        """Detect the format and the kinds it may fill. Raises InputError, UsageError."""
        try:
            opened = await self._open()
        except WorkerEnded as exc:
            raise _unreadable(self._where, exc, self._reader.settings) from exc
        self.name, self.format, self.kinds = opened.name, opened.format, opened.kinds
        self.total_bytes, self.table = opened.total_bytes, opened.table
        self.guesses = opened.guesses

    def read_times_in(self, zone: str) -> None:
        """Read times that name no zone in this one, "Europe/Madrid"."""
        self._defaults = replace(self._defaults, timezone=zone)
        self._reader.open_source = None  # opens it again

    def read_in(self, language: str) -> None:
        """Read pictures of text in this language, unless the caller named one."""
        if self._defaults.language is None and Kind.LIBRARY in self.kinds[:1]:
            self._defaults = replace(self._defaults, language=language)
            self._reader.open_source = None  # opens it again

    async def batch(self, number: int) -> Batch:
        """Read the next batch of at most `number` records. Raises UsageError."""
        damage: InputError | None = None
        while not self._over and not (damage := self._reader.cost.excess(self.name)):
            try:
                return await self._read_batch(number)
            except WorkerEnded as exc:
                self._give_up(exc)
            except InputError as exc:  # the source no longer exists
                damage = exc
                break
        return Batch(read=len(self._untold), rejects=tuple(self._untold), damage=damage, last=True)

    async def documents(self, ids: Collection[str]) -> tuple[Sequence[Document], Sequence[Reject]]:
        """Return documents of the latest batch, the last usable one for each id, and the rejects.

        Raises BatchLost.
        """
        self._documents, self._size = [], 0
        unusable: tuple[Reject, ...] = ()
        if ids:
            self._reader.cost.add_new_bytes(self._unpacked)
            try:
                unusable = await self._ask_worker(tuple[Reject, ...], "documents", ids=list(ids))
            except WorkerEnded as exc:
                self._give_up(exc)
                raise BatchLost from exc
        self._stored_to, self._untold = self._read_to, []
        documents, self._documents = self._documents, []
        return documents, unusable

    async def _read_batch(self, number: int) -> Batch:
        if self._reader.open_source is not self or not self._reader.worker.running:
            await self._open()
        read = await self._ask_worker(ReadBatch, "batch", number=number)
        self._read_to = read.bookmark or self._stored_to
        self._reader.cost.add_batch(
            seconds_used=read.seconds_used, bytes_read=max(0, read.bytes_read - self.bytes_read)
        )
        self.bytes_read, self._unpacked = read.bytes_read, read.unpacked
        return Batch(
            read=read.read + len(self._untold),
            digests=read.digests,
            replaced=read.replaced,
            rejects=(*self._untold, *read.rejects),
            damage=unpack_refusal(read.damage) if read.damage else None,
            last=read.last,
        )

    async def _open(self) -> OpenedSource:
        self._file, self._reader.open_source = None, self
        settings = self._reader.settings
        if self._stdin and self.kinds:
            self._stdin.begin_again()
        source = {
            "where": self._where,
            "format": self.format,
            "defaults": self._defaults,
            "skipped": self._skipped,
            "after": self._stored_to,
            "seconds": settings.seconds,
            "per_megabyte": settings.seconds_per_megabyte,
            "shared": self._shared,
        }
        used = self._reader.worker.running
        try:
            return await self._ask_worker(OpenedSource, "open", **source)
        except WorkerEnded:
            if not used or self._file:
                raise
        return await self._ask_worker(OpenedSource, "open", **source)  # the process had died before

    async def _ask_worker(self, kind: type[_Answer], order: str, **given: object) -> _Answer:
        packed = pack_order(f"{_DESK}.{order}", (), given)
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            return unpack(kind, await self._reader.worker.ask(packed, self._hear))
        except WorkerEnded:
            self._reader.cost.add_end(clock() - begun)
            raise

    async def _hear(self, note: bytes) -> bytes | None:
        kind, content = note[:1], note[1:]
        if kind == FILE:
            self._file = unpack(str, content)
        elif kind == DOCUMENTS:
            self._size += len(content)
            if self._size > _LARGEST_BATCH:
                raise WorkerEnded(Ending.GREEDY)
            self._documents += unpack(list[Document], content)
        elif kind == INPUT and self._stdin:
            return await self._stdin.read(int(content))
        return None

    def _give_up(self, ended: WorkerEnded) -> None:
        """Skip the file that was being read, so that the remaining ones can be read."""
        file = self._file or self.name
        self._over = file == self.name or file in self._skipped
        self._reader.cost.files_given_up += 1
        self._skipped.append(file)
        taken = self._stored_to.taken if self._stored_to and self._stored_to.file == file else 0
        stored = f"; its first {taken:,} records are stored" if taken else ""
        reason = f"{_describe_ending(ended, self._reader.settings)}{stored}"
        self._untold.append(Reject(file=file, line=1, reason=reason))


async def _ignore(_note: bytes) -> None:
    """Hear which file is being looked at; nothing depends on it."""


def _unreadable(where: str, exc: WorkerEnded, settings: IngestSettings) -> InputError:
    return InputError(
        Message(
            "{name} cannot be read: {reason}.", name=where, reason=_describe_ending(exc, settings)
        ),
        fix=Message("Look at what it holds, or raise the limits in [ingest]."),
    )


def _describe_ending(ended: WorkerEnded, settings: IngestSettings) -> str:
    match ended.ending:
        case Ending.SLOW:
            seconds, more = (
                f"{settings.seconds:g} s",
                f"{settings.seconds_per_megabyte:g} s a megabyte",
            )
            return f"it takes longer to read than {seconds} and {more}"
        case Ending.GREEDY:
            return f"it takes more than {settings.memory_mb:,} MB of memory to read"
        case Ending.KILLED:
            return "the process that read it was killed, perhaps for want of memory"
        case Ending.BROKEN:
            return f"the process that read it broke down ({ended.detail or 'nobody knows why'})"
