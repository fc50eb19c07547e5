"""The owner's side: a process that is started on demand and replaced when it ends.

Processes are started afresh, not forked, so they hold no socket, secret or lock of their owner, and
what they read can neither hang nor crash it.
"""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from signal import Signals
from types import MappingProxyType
from typing import ParamSpec, TypeAlias, TypeVar, get_type_hints

from engine.errors import ProcessUnstarted
from engine.isolation.worker import (
    ANSWER,
    FAULT,
    GREEDY,
    HEADER,
    LARGEST,
    NOTE,
    ORDER,
    READY,
    REFUSAL,
    REPLY,
    pack,
    pack_frame,
    pack_order,
    unpack,
    unpack_refusal,
)
from engine.messages import Message
from engine.values import Closable

Heard: TypeAlias = Callable[[bytes], Awaitable[bytes | None]]
_Pipe = TypeVar("_Pipe", asyncio.StreamReader, asyncio.StreamWriter)

# Imports what its owner would import, but reads neither its environment nor the user's files.
_START = "import sys; sys.path[:] = sys.argv[2:]; from engine.isolation.worker import main; main()"
_OUT_OF_TIME, _KILLED = 27, 9  # SIGPROF and SIGKILL, which Windows lacks
_START_SECONDS = 60.0
_END_SECONDS = 5.0
_BUFFER = 1 << 20  # bytes
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a worker is and may take. Memory and processor time count where the system allows."""

    seconds: float = 0.0  # processor time of an order; 0 = it limits itself
    seconds_per_megabyte: float = 0.0  # and for each megabyte of bytes in the order
    patience: float = 30.0  # seconds of wall-clock time that it may be silent
    memory: int = 0  # bytes of address space; 0 = any
    niceness: int = 0
    modules: Sequence[str] = ()  # imported before the first order, if they are installed
    environment: Mapping[str, str] = field(default_factory=dict)


class Ending(Enum):
    """How a worker ended without an answer."""

    SLOW = "it was over its time"
    GREEDY = "it was over its memory"
    KILLED = "somebody killed it, such as a system that ran out of memory"
    BROKEN = "it crashed, or met an error that nobody foresaw"


class WorkerEnded(Exception):
    """The process ended without an answer. `detail` names the signal or the error."""

    def __init__(self, ending: Ending, detail: str = "") -> None:
        super().__init__(ending.value)
        self.ending, self.detail = ending, detail


class Worker:
    """At most one process, which runs engine.isolation.worker.

    `close` waits for the processes that have ended.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._process: Process | None = None
        self._killed: list[Process] = []

    @property
    def running(self) -> bool:
        """Whether a process was started and has not been seen to end."""
        return self._process is not None

    async def ask(
        self, order: bytes, heard: Heard | None = None, *, patience: float | None = None
    ) -> bytes:
        """Return the answer to `order`. `heard` receives the notes, and may reply to them.

        `patience` takes the place of that of the limits. Raises WorkerEnded, the PresagioError that
        the worker raised, and ProcessUnstarted.
        """
        patience = patience or self.limits.patience
        process = self._process or await self._start_process()
        try:
            await self._send_frame(process, pack_frame(ORDER, order), patience)
            kind, content = await self._hold_conversation(process, heard, patience)
        except TimeoutError as exc:
            self._kill()
            raise WorkerEnded(Ending.SLOW) from exc
        except (ConnectionError, asyncio.IncompleteReadError) as exc:
            raise await self._explain_end(process) from exc
        except BaseException:  # cancelled: the next order would get this one's answer
            self._kill()
            raise
        if kind == ANSWER:
            return content
        if kind == REFUSAL:
            raise unpack_refusal(content)
        self._kill()  # its state is unknown
        if kind == GREEDY:
            raise WorkerEnded(Ending.GREEDY)
        raise WorkerEnded(Ending.BROKEN, content.decode() if kind == FAULT else "")

    async def close(self) -> None:
        """End the process, and wait until all that were killed are gone."""
        self._kill()
        for process in self._killed:
            await process.communicate()  # drains its output: otherwise the pipe stays open
        self._killed.clear()

    async def _hold_conversation(
        self, process: Process, heard: Heard | None, patience: float
    ) -> tuple[bytes, bytes]:
        """Pass on the notes, and return the frame that follows them."""
        while True:
            async with asyncio.timeout(patience):
                kind, content = await _read_frame(_require_pipe(process.stdout))
            if kind != NOTE:
                return kind, content
            # The time the owner takes to reply does not count against the worker.
            if heard and (reply := await heard(content)) is not None:
                await self._send_frame(process, pack_frame(REPLY, reply), patience)

    async def _send_frame(self, process: Process, frame: bytes, patience: float) -> None:
        orders = _require_pipe(process.stdin)
        async with asyncio.timeout(patience):
            orders.write(frame)
            await orders.drain()

    async def _start_process(self) -> Process:
        await self.close()
        self._process = process = await _spawn_process(self.limits)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await _require_pipe(process.stdout).readexactly(len(READY))
        except (TimeoutError, asyncio.IncompleteReadError) as exc:
            self._kill()
            raise _build_start_error() from exc
        except BaseException:
            self._kill()
            raise
        return process

    async def _explain_end(self, process: Process) -> WorkerEnded:
        """Return how a process that has closed its output ended."""
        try:
            # Do not kill it before: that may reap it here, and asyncio would lose its exit status.
            async with asyncio.timeout(_END_SECONDS):
                code = -await process.wait()
        except TimeoutError:
            return WorkerEnded(Ending.BROKEN)
        finally:
            self._kill()
        if code == _OUT_OF_TIME:
            return WorkerEnded(Ending.SLOW)
        if code == _KILLED:
            return WorkerEnded(Ending.KILLED)
        return WorkerEnded(Ending.BROKEN, Signals(code).name if code > 0 else f"exit code {-code}")

    def _kill(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        self._killed.append(process)
        _require_pipe(process.stdin).close()
        with suppress(ProcessLookupError):  # it has ended by itself
            process.kill()


async def _spawn_process(limits: Limits) -> Process:
    given = pack([limits.memory, limits.niceness, limits.modules])
    # Windows needs its own environment.
    environment = None if sys.platform == "win32" else limits.environment
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", _START, given.decode(), *sys.path),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,  # what native code says when it breaks down is no news for a terminal
            limit=_BUFFER,
            env=environment,
            start_new_session=True,  # an interrupt on the terminal is meant for the owner
        )
    except OSError as exc:
        raise _build_start_error() from exc


async def _read_frame(answers: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind, length = HEADER.unpack(await answers.readexactly(HEADER.size))
    if length > LARGEST:
        return GREEDY, b""
    return kind, await answers.readexactly(length)


def _require_pipe(pipe: _Pipe | None) -> _Pipe:
    if pipe is None:
        raise ValueError("a process without its pipes")
    return pipe


def _build_start_error() -> ProcessUnstarted:
    return ProcessUnstarted(
        Message("The process that reads what others wrote cannot be started."),
        fix=Message("See whether memory or the number of processes is limited."),
    )


# Most of the memory is for a portrait on a picture, which may have a hundred million pixels.
SMALL = Limits(seconds=20.0, seconds_per_megabyte=1.0, patience=60.0, memory=1_500_000_000)


class Isolation(Closable):
    """Up to `workers` processes; each starts on first use. Use `async with`."""

    def __init__(self, limits: Limits = SMALL, *, workers: int = 1) -> None:
        self._workers = [Worker(limits) for _ in range(workers)]
        self._limits = limits
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        for worker in self._workers:
            self._idle.put_nowait(worker)

    async def aclose(self) -> None:
        """End the processes."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    async def run_isolated(
        self, function: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Result:
        """Return what a function of a module returns, once a process is idle.

        What it takes and returns has to cross (engine.isolation.worker), as its annotations say.
        Raises WorkerEnded, the PresagioError that the function raised, and ProcessUnstarted.
        """
        size = sum(
            len(argument) for argument in (*args, *kwargs.values()) if isinstance(argument, bytes)
        )
        seconds = self._limits.seconds + size / 1e6 * self._limits.seconds_per_megabyte
        order = pack_call(function, args, kwargs, seconds=seconds)
        worker = await self._idle.get()
        try:
            answer = await _await_answer(worker, order)
        finally:
            self._idle.put_nowait(worker)
        return unpack_result(function, answer)


def pack_call(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object] = MappingProxyType({}),
    *,
    seconds: float,
) -> bytes:
    """Return the order to call a function of a module, for so much processor time; 0 = any."""
    name = f"{function.__module__}:{function.__qualname__}"
    return pack_order(name, args, kwargs, seconds=seconds)


def unpack_result(function: Callable[..., _Result], answer: bytes) -> _Result:
    """Return what the function returned."""
    kind: type[_Result] = get_type_hints(function)["return"]
    return unpack(kind, answer)


async def _await_answer(worker: Worker, order: bytes) -> bytes:
    if worker.running:
        try:
            return await worker.ask(order)
        except WorkerEnded as exc:
            if exc.ending not in (Ending.KILLED, Ending.BROKEN):
                raise
        # An earlier order or the system may have killed the worker: try once more with a new one.
    return await worker.ask(order)
