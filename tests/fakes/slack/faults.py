"""Faults that a test plans: what happens instead of a good answer, and how many times."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import web

from tests.fakes.slack.wire import Refusal
from tests.fakes.stand_in import cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One wrong turn. `delay` seconds pass first; then the first of the others that is set.

    `error` is answered as Slack does (with 429 and Retry-After for "ratelimited"), `status` is an
    answer without JSON. `drop_before` cuts the connection before anything was done, `drop_after`
    when all was done but nothing was said.
    """

    delay: float = 0.0
    error: str = ""
    retry_after: int = 1
    status: int = 0
    hang: bool = False
    drop_before: bool = False
    drop_after: bool = False


@dataclass
class FaultPlan:
    """Faults in waiting, by method of the Web API, "response_url" or "upload"."""

    _waiting: dict[str, Iterator[Fault]] = field(default_factory=dict)

    def add(self, method: str, fault: Fault, times: int | None) -> None:
        """So many times after those already planned; None means until `clear`."""
        more = itertools.repeat(fault) if times is None else itertools.repeat(fault, times)
        self._waiting[method] = itertools.chain(self._waiting.get(method, ()), more)

    def clear(self, method: str) -> None:
        self._waiting.pop(method, None)

    def take(self, method: str) -> Fault | None:
        return next(self._waiting.get(method, iter(())), None)


async def before_processing(fault: Fault, request: web.Request) -> web.StreamResponse | None:
    """The answer that takes the place of processing, None if the request is to be processed."""
    await asyncio.sleep(fault.delay)
    if fault.hang:
        await asyncio.Event().wait()
    if fault.drop_before:
        return cut(request)
    if fault.status:
        return web.Response(status=fault.status, text="<h1>No</h1>", content_type="text/html")
    if fault.error == "ratelimited":
        headers = {"Retry-After": str(fault.retry_after)}
        return web.json_response(Refusal(fault.error).body, status=429, headers=headers)
    return web.json_response(Refusal(fault.error).body) if fault.error else None
