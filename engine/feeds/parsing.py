"""Reads feeds in processes of their own.

A hostile feed takes seconds of a processor and hundreds of megabytes, a crash of the XML parser
takes its process along: neither may happen where chats are answered. Processes are started anew,
not forked, so they hold no socket, no secret and no lock of their owner.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from engine.errors import FeedUnreadable, PresagioError
from engine.feeds.types import ParsedFeed
from engine.feeds.worker import LENGTH, READY, Order, pack_order, unpack_answer
from engine.messages import Message

_Pipe = TypeVar("_Pipe", asyncio.StreamReader, asyncio.StreamWriter)

# Imports what its owner would import, and reads neither its environment nor its user's files.
_START = "import sys; sys.path[:] = sys.argv[2:]; from engine.feeds.worker import main; main()"
_ENVIRONMENT = None if sys.platform == "win32" else dict[str, str]()  # Windows needs its own
_OUT_OF_TIME = 27  # SIGPROF, which Windows has not
_START_SECONDS = 60.0
_END_SECONDS = 5.0
_PER_MEGABYTE = 1.0  # seconds of processor time; ordinary feeds take a third of it


class FeedParser:
    """Reads feeds, `workers` at a time. Use `async with`; processes start when first needed.

    One feed may take `seconds` of processor time and one more a megabyte, `patience` seconds
    by the clock, and `memory` bytes.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        seconds: float = 2.0,
        patience: float = 30.0,
        memory: int = 512_000_000,
    ) -> None:
        self._seconds = seconds
        self._workers = [_Worker(patience=patience, memory=memory) for _ in range(workers)]
        self._idle: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()

    async def __aenter__(self) -> Self:
        for worker in self._workers:
            self._idle.put_nowait(worker)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.gather(*(worker.close() for worker in self._workers))

    async def parse(self, body: bytes, content_type: str | None, url: str) -> ParsedFeed:
        """Read the feed that came from `url`, as engine.feeds.read does.

        Raises FeedUnreadable, also when it takes too long or ends the process that reads it;
        PresagioError when no process can be started.
        """
        seconds = self._seconds + len(body) / 1e6 * _PER_MEGABYTE
        order = Order(body=body, content_type=content_type, url=url, seconds=seconds)
        worker = await self._idle.get()
        try:
            return unpack_answer(await worker.answer(pack_order(order)))
        finally:
            self._idle.put_nowait(worker)


class _Ended(Exception):
    """The process ended without an answer."""


class _Worker:
    """One process at most, replaced when it has ended or was not waited for."""

    def __init__(self, *, patience: float, memory: int) -> None:
        self._patience = patience
        self._memory = memory
        self._process: Process | None = None
        self._killed: list[Process] = []

    async def answer(self, order: bytes) -> bytes:
        """Return the answer to `order`. Raises FeedUnreadable, PresagioError."""
        if self._process is not None:
            try:
                return await self._attempt(order, self._process)
            except _Ended:
                pass  # an earlier feed or the system may have broken it: once more, afresh
        try:
            return await self._attempt(order, await self._start())
        except _Ended as exc:
            raise FeedUnreadable(Message("The process that read the feed broke down.")) from exc

    async def close(self) -> None:
        """End the process, and wait until all that were killed are gone."""
        self._kill()
        for process in self._killed:
            await process.communicate()  # takes what it wrote last: else its pipe stays open
        self._killed.clear()

    async def _attempt(self, order: bytes, process: Process) -> bytes:
        try:
            async with asyncio.timeout(self._patience):
                return await _exchange(process, order)
        except TimeoutError as exc:
            self._kill()
            raise _too_long() from exc
        except (ConnectionError, asyncio.IncompleteReadError) as exc:
            if await self._ended(process) == -_OUT_OF_TIME:
                raise _too_long() from exc
            raise _Ended from exc
        except BaseException:  # cancelled: its answer would be taken for that of the next order
            self._kill()
            raise

    async def _start(self) -> Process:
        await self.close()
        self._process = process = await _spawned(self._memory)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await _stream(process.stdout).readexactly(len(READY))
        except (TimeoutError, asyncio.IncompleteReadError) as exc:
            self._kill()
            raise _unstartable() from exc
        except BaseException:
            self._kill()
            raise
        return process

    async def _ended(self, process: Process) -> int | None:
        """Return how a process ended that has closed its output, None if it had to be killed."""
        try:
            # Not killed before: that may reap it here, and how it ended is lost to asyncio.
            async with asyncio.timeout(_END_SECONDS):
                return await process.wait()
        except TimeoutError:
            return None
        finally:
            self._kill()

    def _kill(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        self._killed.append(process)
        _stream(process.stdin).close()
        with suppress(ProcessLookupError):  # it has ended by itself
            process.kill()


async def _spawned(memory: int) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-c",
            _START,
            str(memory),
            *sys.path,
            stdin=PIPE,
            stdout=PIPE,
            env=_ENVIRONMENT,
            start_new_session=True,  # an interrupt on the terminal is for its owner
        )
    except OSError as exc:
        raise _unstartable() from exc


async def _exchange(process: Process, order: bytes) -> bytes:
    orders, answers = _stream(process.stdin), _stream(process.stdout)
    orders.write(order)
    await orders.drain()
    (length,) = LENGTH.unpack(await answers.readexactly(LENGTH.size))
    return await answers.readexactly(length)


def _stream(pipe: _Pipe | None) -> _Pipe:
    if pipe is None:
        raise ValueError("a process without its pipes")
    return pipe


def _too_long() -> FeedUnreadable:
    return FeedUnreadable(Message("The feed takes too long to read."))


def _unstartable() -> PresagioError:
    return PresagioError(
        Message("The process that reads feeds cannot be started."),
        fix=Message("See whether memory or the number of processes is limited."),
    )
