"""A pool of worker processes for untrusted input, with limits on memory, CPU time and silence.

Parsers of archives, feeds and pages, pictures and models run in it. A process is started on demand
and replaced when it ends. It is started afresh, not forked, so it holds no socket, secret or lock
of its owner, and what it reads can neither hang nor crash that.
"""

import asyncio
import heapq
import itertools
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from signal import Signals
from typing import ParamSpec, TypeAlias, TypeVar, get_type_hints

from engine.errors import PresagioError, ProcessUnstarted
from engine.messages import Message
from engine.process_worker import (
    ERROR,
    FAULT,
    HEADER,
    LARGEST,
    NOTE,
    OUT_OF_MEMORY,
    READY,
    REPLY,
    RESULT,
    TASK,
    Task,
    pack,
    pack_frame,
    unpack,
)
from engine.values import Closable

# Receives each note as it came, and may return a reply.
NoteHandler: TypeAlias = Callable[[bytes], Awaitable[bytes | None]]
_Pipe = TypeVar("_Pipe", asyncio.StreamReader, asyncio.StreamWriter)

# Imports from where its owner does; by `-I` neither its environment nor the user's files are read.
_START = "import sys; sys.path[:] = sys.argv[2:]; from engine.process_worker import main; main()"
_SIGPROF, _SIGKILL = 27, 9  # Windows lacks the names; SIGPROF ends what is out of CPU time
_START_SECONDS = 60.0
_END_SECONDS = 5.0
_BUFFER = 1 << 20  # bytes
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a task may use, and how its process is started. Memory and CPU time are limited only
    where the system can do so."""

    seconds: float = 0.0  # of CPU time for a task; 0: the task sets its own limit
    seconds_per_megabyte: float = 0.0  # in addition, for each megabyte of bytes in its arguments
    patience: float = 30.0  # seconds of wall-clock time without a note or a result
    memory: int = 0  # bytes of address space; 0: no limit
    niceness: int = 0
    modules: Sequence[str] = ()  # imported before the first task, if they are installed
    environment: Mapping[str, str] = field(default_factory=dict)


class Ending(Enum):
    """How a worker ended without a result."""

    SLOW = "it was over its time"
    GREEDY = "it was over its memory"
    KILLED = "somebody killed it, such as a system that ran out of memory"
    BROKEN = "it crashed, or met an error that nobody foresaw"


class WorkerEnded(Exception):
    """The process ended without a result. `detail` names the signal or the error."""

    def __init__(self, ending: Ending, detail: str = "") -> None:
        super().__init__(ending.value)
        self.ending, self.detail = ending, detail


class Worker:
    """At most one process, which runs engine.process_worker and is started for the first task.

    A process that was killed is waited for by `close`, not at once.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._process: Process | None = None
        self._killed: list[Process] = []

    @property
    def running(self) -> bool:
        """Whether a process was started and has not been seen to end."""
        return self._process is not None

    async def run(
        self,
        kind: type[_Result],
        task: Task,
        hear: NoteHandler | None = None,
        *,
        patience: float | None = None,
    ) -> _Result:
        """Return the result of a task, which is of the type `kind`. `hear` receives the notes.

        `patience` takes the place of that of the limits. Raises WorkerEnded, the PresagioError that
        the task raised, and ProcessUnstarted.
        """
        patience = patience or self.limits.patience
        process = self._process or await self._start_process()
        try:
            await self._send_frame(process, pack_frame(TASK, pack(task)), patience)
            letter, content = await self._pass_notes(process, hear, patience)
        except TimeoutError as exc:
            self._kill()
            raise WorkerEnded(Ending.SLOW) from exc
        except (ConnectionError, asyncio.IncompleteReadError) as exc:
            raise await self._explain_end(process) from exc
        except BaseException:  # cancelled: the next task would get this one's result
            self._kill()
            raise
        if letter == RESULT:
            return unpack(kind, content)
        if letter == ERROR:
            raise unpack(PresagioError, content)
        self._kill()  # its state is unknown
        if letter == OUT_OF_MEMORY:
            raise WorkerEnded(Ending.GREEDY)
        raise WorkerEnded(Ending.BROKEN, content.decode() if letter == FAULT else "")

    async def run_or_retry(
        self, kind: type[_Result], task: Task, hear: NoteHandler | None = None
    ) -> _Result:
        """Return the result of a task, tried once more in a new process if one from before died.

        An earlier task or the system may be to blame. Raises as `run` does.
        """
        if self.running:
            try:
                return await self.run(kind, task, hear)
            except WorkerEnded as exc:
                if exc.ending not in (Ending.KILLED, Ending.BROKEN):
                    raise
        return await self.run(kind, task, hear)

    async def close(self) -> None:
        """End the process, and wait until all that were killed are gone."""
        self._kill()
        for process in self._killed:
            await process.communicate()  # drains its output: otherwise the pipe stays open
        self._killed.clear()

    async def _pass_notes(
        self, process: Process, hear: NoteHandler | None, patience: float
    ) -> tuple[bytes, bytes]:
        """Pass on the notes, and return the letter and the content of the frame after them."""
        stdout = _require_pipe(process.stdout)
        while True:
            async with asyncio.timeout(patience):
                letter, length = HEADER.unpack(await stdout.readexactly(HEADER.size))
                if length > LARGEST:  # which counts as greed
                    return OUT_OF_MEMORY, b""
                content = await stdout.readexactly(length)
            if letter != NOTE:
                return letter, content
            # The time the owner takes to reply does not count against the worker.
            if hear and (reply := await hear(content)) is not None:
                await self._send_frame(process, pack_frame(REPLY, reply), patience)

    async def _send_frame(self, process: Process, frame: bytes, patience: float) -> None:
        stdin = _require_pipe(process.stdin)
        async with asyncio.timeout(patience):
            stdin.write(frame)
            await stdin.drain()

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
                status = await process.wait()
        except TimeoutError:
            return WorkerEnded(Ending.BROKEN)
        finally:
            self._kill()
        if status == -_SIGPROF:
            return WorkerEnded(Ending.SLOW)
        if status == -_SIGKILL:
            return WorkerEnded(Ending.KILLED)
        detail = Signals(-status).name if status < 0 else f"exit code {status}"
        return WorkerEnded(Ending.BROKEN, detail)

    def _kill(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        self._killed.append(process)
        _require_pipe(process.stdin).close()
        with suppress(ProcessLookupError):  # it has ended by itself
            process.kill()


async def _spawn_process(limits: Limits) -> Process:
    """Start a process within limits. Raises ProcessUnstarted."""
    settings = pack([limits.memory, limits.niceness, limits.modules])
    # Windows needs its own environment.
    environment = None if sys.platform == "win32" else limits.environment
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", _START, settings.decode(), *sys.path),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,  # else crashing native code writes to the terminal
            limit=_BUFFER,
            env=environment,
            start_new_session=True,  # an interrupt on the terminal is meant for the owner
        )
    except OSError as exc:
        raise _build_start_error() from exc


def _require_pipe(pipe: _Pipe | None) -> _Pipe:
    if pipe is None:
        raise ValueError("a process without its pipes")
    return pipe


def _build_start_error() -> ProcessUnstarted:
    return ProcessUnstarted(
        Message("The process that reads what others wrote cannot be started."),
        fix=Message("See whether memory or the number of processes is limited."),
    )


# For pages, lists and pictures; a portrait on a picture may have a hundred million pixels.
DEFAULT_LIMITS = Limits(seconds=20.0, seconds_per_megabyte=1.0, patience=60.0, memory=1_500_000_000)


class WorkerQueue:
    """Lends idle workers, the most urgent request first, and equally urgent ones as they came."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._size, self._idle = len(workers), [*workers]
        self._waiting: list[tuple[int, int, asyncio.Future[Worker]]] = []
        self._arrivals = itertools.count()

    @property
    def is_idle(self) -> bool:
        """Whether no worker is lent."""
        return len(self._idle) == self._size

    async def acquire(self, urgency: int = 0) -> Worker:
        """Return a worker once one is idle; 0 is most urgent. `release` gives it back."""
        if self._idle:
            return self._idle.pop()
        turn: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (urgency, next(self._arrivals), turn))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was lent a worker meanwhile
                self.release(turn.result())
            raise

    def release(self, worker: Worker) -> None:
        """Take the worker back, and lend it to the next in line, if there is one."""
        while self._waiting:
            turn = heapq.heappop(self._waiting)[-1]
            if not turn.done():  # not cancelled
                turn.set_result(worker)
                return
        self._idle.append(worker)


class ProcessPool(Closable):
    """Up to `workers` processes; each starts on first use. Use `async with`."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, workers: int = 1) -> None:
        self._workers = [Worker(limits) for _ in range(workers)]
        self._limits, self._queue = limits, WorkerQueue(self._workers)

    async def aclose(self) -> None:
        """End the processes."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    async def run(
        self,
        function: Callable[_Parameters, _Result],
        /,
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> _Result:
        """Call a function of a module in the next process that is idle, and return its result.

        Its annotations have to name types that engine.process_worker can pass between processes.
        Raises WorkerEnded, the PresagioError that the function raised, and ProcessUnstarted.
        """
        size = sum(len(value) for value in (*args, *kwargs.values()) if isinstance(value, bytes))
        seconds = self._limits.seconds + size / 1e6 * self._limits.seconds_per_megabyte
        task = Task(name_function(function), args, kwargs, seconds)
        worker = await self._queue.acquire()
        try:
            return await worker.run_or_retry(result_type(function), task)
        finally:
            self._queue.release(worker)


def name_function(function: Callable[..., object]) -> str:
    """Return the name of a function of a module, as a task has it."""
    return f"{function.__module__}:{function.__qualname__}"


def result_type(function: Callable[..., _Result]) -> type[_Result]:
    """Return the type of what a function returns, as its annotation says."""
    kind: type[_Result] = get_type_hints(function)["return"]
    return kind
