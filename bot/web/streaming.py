"""Work that takes long: shared by the requests that wait for it, and told of as it goes on.

A request for `text/event-stream` gets an event `step` whenever a step begins, then `done` with the
outcome or `failed` with the problem. Work that nobody waits for any more is cancelled.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse

from bot.i18n.words import Words
from bot.web.failures import map_error

EVENTS = "text/event-stream"
RETURN_SECONDS = 9.0  # for which work goes on although no page waits for it: one may ask again
_QUIET_SECONDS = 15.0  # after which a comment keeps proxies from closing the stream

Outcome = TypeVar("Outcome")


@dataclass(slots=True)
class Work(Generic[Outcome]):
    """Work under way, and who still wants its outcome."""

    task: asyncio.Task[Outcome]
    waiting: int = 0  # requests
    returning: list[asyncio.TimerHandle] = field(default_factory=list)  # pages that will ask again


class SharedWork(Generic[Outcome]):
    """Does the work for a key once, for all requests that wait for it at the same time.

    A page that was answered before the work was done may be expected to return for the outcome;
    the work, and its outcome, last until then. Otherwise it ends with the last that waits.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, Work[Outcome]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._running

    @asynccontextmanager
    async def join(
        self,
        key: Hashable,
        begin: Callable[[], Coroutine[Any, Any, Outcome]],
        *,
        returns: bool = False,
    ) -> AsyncIterator[asyncio.Task[Outcome]]:
        """Lend the task for a key, which is begun if it is not under way.

        Whoever awaits it shields it: others may wait for it too. With `returns`, it outlasts a
        stream that breaks by what a page takes to ask again, so that the model is not asked twice.
        """
        work = self._running.get(key)
        if work is None:
            work = self._running[key] = Work(asyncio.create_task(begin()))
            work.task.add_done_callback(_take_error)
        elif work.returning:
            work.returning.pop(0).cancel()
        work.waiting += 1
        try:
            yield work.task
        finally:
            if returns and not work.task.done():
                self.expect_return(key)
            work.waiting -= 1
            self._end_unwanted(key, work)

    def expect_return(self, key: Hashable) -> None:
        """Keep the work for a page that will ask for its outcome within RETURN_SECONDS."""
        work = self._running[key]

        def give_up() -> None:
            work.returning.remove(timer)
            self._end_unwanted(key, work)

        timer = asyncio.get_running_loop().call_later(RETURN_SECONDS, give_up)
        work.returning.append(timer)

    async def aclose(self) -> None:
        """Cancel what is under way, and wait until it has ended."""
        ending = list(self._running.values())
        self._running.clear()
        for work in ending:
            for timer in work.returning:
                timer.cancel()
            work.task.cancel()
        await asyncio.gather(*(work.task for work in ending), return_exceptions=True)

    def _end_unwanted(self, key: Hashable, work: Work[Outcome]) -> None:
        if not work.waiting and not work.returning and self._running.get(key) is work:
            del self._running[key]
            work.task.cancel()


def _take_error(task: asyncio.Task[Any]) -> None:
    """Take the error of work whose readers have gone, which would be logged as forgotten."""
    with suppress(asyncio.CancelledError):
        task.exception()


def wants_events(request: Request) -> bool:
    """Return whether a stream of events is asked for."""
    return EVENTS in request.headers.get("accept", "").lower()


def stream_work(
    work: AbstractAsyncContextManager[asyncio.Future[Outcome]],
    steps: "asyncio.Queue[object]",
    render: Callable[[Outcome], Awaitable[object]],
    *,
    words: Words | None = None,
) -> StreamingResponse:
    """Return a stream of the `steps` of `work` and of its outcome, as `render` writes it."""
    return StreamingResponse(
        _tell_events(work, steps, render, words),
        media_type=EVENTS,
        headers={"Cache-Control": "no-cache, no-store", "X-Accel-Buffering": "no"},
    )


@asynccontextmanager
async def own_work(running: asyncio.Future[Outcome]) -> AsyncIterator[asyncio.Future[Outcome]]:
    """Lend work that has one reader, and ends when that has gone."""
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _tell_events(
    work: AbstractAsyncContextManager[asyncio.Future[Outcome]],
    steps: "asyncio.Queue[object]",
    render: Callable[[Outcome], Awaitable[object]],
    words: Words | None,
) -> AsyncIterator[bytes]:
    async with work as running:
        ended = object()
        running.add_done_callback(lambda _: steps.put_nowait(ended))
        while (step := await _next_step(steps)) is not ended:
            yield b": still at it\n\n" if step is None else _write_event("step", step)
        try:
            yield _write_event("done", await render(await asyncio.shield(running)))
        except Exception as error:
            yield _write_event("failed", map_error(error).problem(words).model_dump())


async def _next_step(steps: "asyncio.Queue[object]") -> object | None:
    """Return what comes next, or None if nothing has come for long."""
    try:
        async with asyncio.timeout(_QUIET_SECONDS):
            return await steps.get()
    except TimeoutError:
        return None


def _write_event(name: str, data: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(data, default=str))
