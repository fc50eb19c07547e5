"""Runs functions in processes of their own, which what they read may hang, fill and kill."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ParamSpec, TypeVar, get_type_hints

from engine.closing import Closable
from engine.isolation.frames import pack_order, unpack
from engine.isolation.process import Ending, Limits, Worker, WorkerEnded

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


# Most of the time, and of the memory, is for the fonts of a machine that has thousands.
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
        self,
        function: Callable[_Given, _Result],
        /,
        *args: _Given.args,
        **kwargs: _Given.kwargs,
    ) -> _Result:
        """Return what a function of a module returns, once a process is idle.

        What it takes and returns has to cross (engine.isolation.frames), as its annotations say.
        Raises WorkerEnded, the PresagioError that the function raised, and ProcessUnstarted.
        """
        size = sum(len(one) for one in (*args, *kwargs.values()) if isinstance(one, bytes))
        seconds = self._limits.seconds + size / 1e6 * self._limits.seconds_per_megabyte
        order = pack_call(function, args, kwargs, seconds=seconds)
        worker = await self._idle.get()
        try:
            answer = await _answered(worker, order)
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


async def _answered(worker: Worker, order: bytes) -> bytes:
    if worker.running:
        try:
            return await worker.ask(order)
        except WorkerEnded as exc:
            if exc.ending not in (Ending.KILLED, Ending.BROKEN):
                raise
        # An earlier order or the system may have killed the worker: try once more with a new one.
    return await worker.ask(order)
