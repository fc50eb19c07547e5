"""Reads sources in a worker process, which may end over a file without harm to this one.

A file that takes too much time or memory, or kills the process, becomes a reject; a new process
reads the files after it, starting at the beginning of the latest batch. Reading stops where all
files together take too much.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import replace
from typing import IO, TypeVar

from engine.corpora import Document
from engine.errors import InputError
from engine.ingest.records import (
    Batch,
    BatchLost,
    Bookmark,
    Contents,
    Defaults,
    Note,
    OpenedSource,
    Reject,
    SourceRequest,
    UnreadFile,
)
from engine.ingest.streams import STANDARD_INPUT, refused_by_system
from engine.messages import Message, join_messages
from engine.process_pool import Ending, Limits, Worker, WorkerEnded
from engine.process_worker import Task, unpack
from engine.settings.fetching import IngestSettings
from engine.values import Closable, Kind

_SESSION = "engine.ingest.worker:SourceSession"  # named, as importing it imports every format
_PATIENCE = 600.0  # seconds without a sign of life
_LARGEST_BATCH = 1 << 28  # bytes of documents as JSON; each document may repeat a long title
_Result = TypeVar("_Result")


class ReadingCost:
    """What reading all sources has cost so far."""

    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        self._seconds_of_ended = 0.0  # processor time of processes that have ended
        self._seconds_of_running = 0.0
        self._bytes_read = 0  # as they lie on the disk
        self.bytes_new = 0  # unpacked, of batches in which not everything is stored already
        self.files_given_up = 0

    def add_batch(self, *, seconds_used: float, bytes_read: int) -> None:
        """Count a batch, given the processor time of the process so far."""
        self._seconds_of_running = seconds_used
        self._bytes_read += bytes_read

    def add_end(self, seconds: float) -> None:
        """Count the process, which has ended over a task that it had for so many seconds."""
        self._seconds_of_ended += self._seconds_of_running + seconds
        self._seconds_of_running = 0.0

    def excess(self, source: str) -> InputError | None:
        """Return why no more of the source is read, or None if it is."""
        settings = self._settings
        maximum = settings.total_minutes * 60
        maximum += self._bytes_read / 1e6 * settings.total_seconds_per_megabyte
        if self._seconds_of_ended + self._seconds_of_running > maximum:
            setting = "total_minutes"
            message = Message(
                "Reading stopped before the end of {source}: all files of a command may take"
                " {minutes:.1f} minutes of processor time.",
                source=source,
                minutes=maximum / 60,
            )
        elif self.bytes_new > settings.total_megabytes * 1_000_000:
            setting = "total_megabytes"
            message = Message(
                "Reading stopped before the end of {source}: all files of a command may bring"
                " {megabytes:,} MB that are not stored yet.",
                source=source,
                megabytes=settings.total_megabytes,
            )
        else:
            return None
        fix = Message(
            "What is stored stays, and the same command goes on with the rest;"
            " {setting} in [ingest] allows more.",
            setting=setting,
        )
        if self.files_given_up:
            tried_again = Message(
                "Files that cannot be read are tried again each time: take them out first"
                " ({number}).",
                number=self.files_given_up,
            )
            fix = join_messages(fix, tried_again)
        return InputError(message, fix=fix)


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
                modules=[_SESSION.partition(":")[0]],
            )
        )
        self.cost = ReadingCost(self.settings)
        self.open_source: IsolatedSource | None = None  # the one that the process has open

    async def aclose(self) -> None:
        """End the process."""
        await self.worker.close()

    async def open_all(
        self,
        where: str,
        *,
        format: str = "auto",  # noqa: A002 - the name of the command's option
        defaults: Defaults | None = None,
        stdin: IO[bytes] | None = None,
    ) -> "list[IsolatedSource]":
        """Open every export at a path (file, folder, zip, gzip), or `stdin` for "-".

        The first tells what is there and not read. Raises UsageError for a format that does not
        exist, UnknownFormat if no reader recognises the content, InputError if it cannot be read.
        """
        request = SourceRequest(
            where,
            format,
            defaults=defaults or Defaults(),
            seconds=self.settings.seconds,
            seconds_per_megabyte=self.settings.seconds_per_megabyte,
        )
        self.open_source = None
        task = Task(f"{_SESSION}.contents", (request,))
        try:
            contents = await self.worker.run(Contents, task)
        except WorkerEnded as exc:
            raise _build_error(where, exc, self.settings) from exc
        sources: list[IsolatedSource] = []
        for part in contents.exports:
            source = IsolatedSource(
                self,
                part,
                stdin,
                is_part=len(contents.exports) > 1,
                unread=() if sources else contents.unread,
            )
            await source.recognise()
            sources.append(source)
        return sources


class IsolatedSource:
    """One source, read batch by batch in two steps; for a Loader. `bytes_read` grows to the total.

    `batch` returns the ids of the next records with their digests. `documents` then translates
    those records that the caller names, which are those that are not stored yet.
    """

    def __init__(
        self,
        reader: SourceReader,
        request: SourceRequest,
        stdin: IO[bytes] | None,
        *,
        is_part: bool,
        unread: tuple[UnreadFile, ...],
    ) -> None:
        # Its bookmark is the end of the latest batch translated, from which it is opened again.
        self._reader, self._request = reader, request
        self._stdin = StandardInput(stdin) if stdin else None
        self.is_part = is_part  # one of several exports at that path
        self.is_direct = request.direct is True  # messages that lie among posts
        self.unread = unread
        self.opened = OpenedSource(request.where, request.format)  # until it is recognised
        self.bytes_read = 0
        self._read_to: Bookmark | None = None  # end of the latest batch read
        self._file: str | None = None  # the file being read
        self._pending_rejects: list[Reject] = []  # for the next batch
        self._is_exhausted = False  # no file is left that may be tried
        self._documents: list[Document] = []  # those of this batch that have arrived
        self._documents_size = 0  # bytes
        self._unpacked = 0  # bytes of the latest batch

    async def recognise(self) -> None:
        """Detect the format and the kinds of corpora that it may fill.

        Raises InputError, UsageError.
        """
        try:
            self.opened = await self._open()
        except WorkerEnded as exc:
            raise _build_error(self.opened.name, exc, self._reader.settings) from exc
        self._request = replace(self._request, format=self.opened.format)

    def set_time_zone(self, zone: str) -> None:
        """Read times that name no zone in this one, "Europe/Madrid"."""
        self._change_defaults(replace(self._request.defaults, timezone=zone))

    def set_picture_language(self, language: str) -> None:
        """Recognise text in pictures in this language, unless the caller named one."""
        defaults = self._request.defaults
        if defaults.language is None and Kind.LIBRARY in self.opened.kinds[:1]:
            self._change_defaults(replace(defaults, language=language))

    def _change_defaults(self, defaults: Defaults) -> None:
        self._request = replace(self._request, defaults=defaults)
        self._reader.open_source = None  # so that it is opened again, with these defaults

    async def batch(self, number: int) -> Batch:
        """Read the next batch of at most `number` records. Raises UsageError."""
        damage: InputError | None = None
        while not self._is_exhausted and not (damage := self._reader.cost.excess(self.opened.name)):
            try:
                return await self._read_batch(number)
            except WorkerEnded as exc:
                self._skip_file(exc)
            except InputError as exc:  # the source no longer exists
                damage = exc
                break
        rejects = tuple(self._pending_rejects)
        return Batch(read=len(rejects), rejects=rejects, damage=damage, last=True)

    async def documents(self, ids: Collection[str]) -> tuple[Sequence[Document], Sequence[Reject]]:
        """Return documents of the latest batch, the last usable one for each id, and the rejects.

        Raises BatchLost.
        """
        self._documents, self._documents_size = [], 0
        unusable: tuple[Reject, ...] = ()
        if ids:
            self._reader.cost.bytes_new += self._unpacked
            try:
                unusable = await self._run(tuple[Reject, ...], "documents", list(ids))
            except WorkerEnded as exc:
                self._skip_file(exc)
                raise BatchLost from exc
        self._request = replace(self._request, after=self._read_to)
        self._pending_rejects = []
        documents, self._documents = self._documents, []
        return documents, unusable

    async def _read_batch(self, number: int) -> Batch:
        if self._reader.open_source is not self or not self._reader.worker.running:
            await self._open()
        batch = await self._run(Batch, "batch", number)
        self._read_to = batch.bookmark or self._request.after
        self._reader.cost.add_batch(
            seconds_used=batch.seconds_used, bytes_read=max(0, batch.bytes_read - self.bytes_read)
        )
        self.bytes_read, self._unpacked = batch.bytes_read, batch.unpacked
        return replace(
            batch,
            read=batch.read + len(self._pending_rejects),
            rejects=(*self._pending_rejects, *batch.rejects),
        )

    async def _open(self) -> OpenedSource:
        self._file, self._reader.open_source = None, self
        if self._stdin and self.opened.kinds:  # its format was recognised from what it began with
            self._stdin.begin_again()
        was_running = self._reader.worker.running
        try:
            return await self._run(OpenedSource, "open", self._request)
        except WorkerEnded:
            if not was_running or self._file:
                raise
        # The process had died before.
        return await self._run(OpenedSource, "open", self._request)

    async def _run(self, kind: type[_Result], method: str, argument: object) -> _Result:
        clock = asyncio.get_running_loop().time
        begun = clock()
        task = Task(f"{_SESSION}.{method}", (argument,))
        try:
            return await self._reader.worker.run(kind, task, self._take_note)
        except WorkerEnded:
            self._reader.cost.add_end(clock() - begun)
            raise

    async def _take_note(self, content: bytes) -> bytes | None:
        """Take what the process says about its task; return the input that it asks for, if any."""
        note = unpack(Note, content)
        if note.file is not None:
            self._file = note.file
        if note.documents:
            self._documents_size += len(content)
            if self._documents_size > _LARGEST_BATCH:
                raise WorkerEnded(Ending.GREEDY)
            self._documents += note.documents
        return await self._stdin.read(note.input) if note.input and self._stdin else None

    def _skip_file(self, ended: WorkerEnded) -> None:
        """Skip the file that was being read, so that the remaining ones can be read."""
        file, after = self._file or self.opened.name, self._request.after
        self._is_exhausted = file == self.opened.name or file in self._request.skipped
        self._reader.cost.files_given_up += 1
        self._request = replace(self._request, skipped=(*self._request.skipped, file))
        taken = after.taken if after and after.file == file else 0
        stored = f"; its first {taken:,} records are stored" if taken else ""
        reason = f"{_describe_ending(ended, self._reader.settings)}{stored}"
        self._pending_rejects.append(Reject(file=file, line=1, reason=reason))


class StandardInput:
    """Reads standard input, and replays once the bytes that were read for detecting the format."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._looked_at: list[bytes] = []
        self._again: list[bytes] | None = None

    def begin_again(self) -> None:
        """Start from the beginning, for the last time."""
        if self._again is None:
            self._again, self._looked_at = self._looked_at, []

    async def read(self, size: int) -> bytes:
        """Return the next bytes, or none at the end. Raises InputError."""
        if self._again:
            return self._again.pop(0)
        try:
            chunk = await in_thread(lambda: self._stream.read(size))
        except OSError as exc:
            raise refused_by_system(STANDARD_INPUT, exc) from exc
        if self._again is None:
            self._looked_at.append(chunk)
        return chunk


async def in_thread(read: Callable[[], _Result]) -> _Result:
    """Return the result of `read`, run in a thread that is abandoned if this is cancelled.

    A pool would wait for its thread, and one that reads a pipe may never end.
    """
    result: Future[_Result] = Future()

    def work() -> None:
        with suppress(InvalidStateError):  # cancelled: nobody is waiting
            try:
                result.set_result(read())
            except Exception as exc:
                result.set_exception(exc)

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wrap_future(result)


def _build_error(where: str, exc: WorkerEnded, settings: IngestSettings) -> InputError:
    return InputError(
        Message(
            "{name} cannot be read: {reason}.", name=where, reason=_describe_ending(exc, settings)
        ),
        fix=Message("Look at what it holds, or raise the limits in [ingest]."),
    )


def _describe_ending(ended: WorkerEnded, settings: IngestSettings) -> str:
    match ended.ending:
        case Ending.SLOW:
            more = f"{settings.seconds_per_megabyte:g} s a megabyte"
            return f"it takes longer to read than {settings.seconds:g} s and {more}"
        case Ending.GREEDY:
            return f"it takes more than {settings.memory_mb:,} MB of memory to read"
        case Ending.KILLED:
            return "the process that read it was killed, perhaps for want of memory"
        case Ending.BROKEN:
            return f"the process that read it broke down ({ended.detail or 'nobody knows why'})"
