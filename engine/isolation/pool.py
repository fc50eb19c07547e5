"""Several worker processes that answer orders of one kind."""

import asyncio

from engine.closing import Closable
from engine.isolation.process import Ending, Worker, WorkerEnded


class WorkerPool(Closable):
    """Up to `workers` processes that run `main` of a module. Use `async with`.

    Each starts on first use, may be silent for `patience` seconds of wall-clock time, and use
    `memory` bytes.
    """

    def __init__(self, module: str, *, workers: int, patience: float, memory: int) -> None:
        self._workers = [Worker(module, patience=patience, memory=memory) for _ in range(workers)]
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        for worker in self._workers:
            self._idle.put_nowait(worker)

    async def aclose(self) -> None:
        """End the processes."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    async def ask(self, order: bytes) -> bytes:
        """Return the answer to an order, once a process is idle.

        Raises WorkerEnded, the PresagioError that the worker raised, and PresagioError if no
        process can be started.
        """
        worker = await self._idle.get()
        try:
            return await _answered(worker, order)
        finally:
            self._idle.put_nowait(worker)


async def _answered(worker: Worker, order: bytes) -> bytes:
    if worker.running:
        try:
            return await worker.ask(order)
        except WorkerEnded as exc:
            if exc.ending not in (Ending.KILLED, Ending.BROKEN):
                raise
        # An earlier order or the system may have killed the worker: try once more with a new one.
    return await worker.ask(order)
