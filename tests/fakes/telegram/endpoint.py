"""The HTTP side: reads a request, lets trouble happen, calls the method, keeps the journal."""

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.stand_in import cut
from tests.fakes.telegram import wire
from tests.fakes.telegram.errors import Refusal, bad_request
from tests.fakes.telegram.faults import Fault, take
from tests.fakes.telegram.limits import RateLimits
from tests.fakes.telegram.methods import HANDLERS
from tests.fakes.telegram.schema import METHODS, read
from tests.fakes.telegram.world import World

# What counts against the limits on sending.
_PACED = frozenset({"sendMessage", "sendPhoto", "editMessageText", "editMessageReplyMarkup"})


@dataclass(slots=True)
class Call:
    """One request of the bot; `error` is how it was refused, if it was."""

    method: str
    parameters: Mapping[str, Any]
    time: float
    result: object = None
    error: str | None = None


@dataclass
class Endpoint:
    """Answers for one token; `errors` are the requests that no real server would understand."""

    world: World
    token: str
    limits: RateLimits | None = None
    calls: list[Call] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        target = wire.target(request.path)
        if target is None:
            self.errors.append(f"{request.method} {request.path} is no path of the Bot API")
            return _refuse(Refusal(404, "Not Found"))
        if target.token != self.token:
            unknown = wire.TOKEN.fullmatch(target.token)
            return _refuse(Refusal(401, "Unauthorized") if unknown else Refusal(404, "Not Found"))
        if target.file:
            return self._download(target.file)
        try:
            return await self._call(target.method, request)
        except ConnectionError:  # the bot hung up while it was talking
            raise
        except Exception as bug:
            self.errors.append(f"the stand-in failed in {target.method}: {bug!r}")
            raise

    def _download(self, path: str) -> web.StreamResponse:
        file = self.world.files.at(path)
        if file is None:
            return _refuse(Refusal(404, "Not Found"))
        return web.Response(body=file.content, content_type="application/octet-stream")

    async def _call(self, method: str, request: web.Request) -> web.StreamResponse:
        call, problem = await self._received(method, request)
        fault = take(self.faults, method, call.parameters.get("chat_id"))
        if fault and (broken := await _broken(fault, request)):
            call.error = str(fault.error)
            return broken
        try:
            if refusal := problem or (fault and fault.refusal()):
                raise refusal
            call.result = await self._result(call)
        except Refusal as refused:
            call.error = refused.description
            return _refuse(refused)
        finally:
            self.world.signal.notify()
        if fault and fault.error == "drop_connection_after_processing":
            return cut(request)
        return web.json_response({"ok": True, "result": call.result})

    async def _received(self, method: str, request: web.Request) -> tuple[Call, Refusal | None]:
        """The call, noted in the journal; and the refusal it has earned by its form."""
        try:
            body = await wire.body(request)
        except Exception as unread:
            if request.transport is None:  # the bot died; there are many errors for such a body
                raise ConnectionResetError from unread
            raise
        parameters: Mapping[str, Any] = body.raw
        problems = [f"unknown method {method}"]
        refusal: Refusal | None = Refusal(404, "Not Found")
        if method in METHODS:
            parameters, problems = read(method, body.raw, body.files)
            spoilt = [problem for problem in problems if "unknown parameter" not in problem]
            refusal = bad_request(spoilt[0]) if spoilt else None
        call = Call(method, parameters, self.world.clock())
        self.calls.append(call)
        self.world.signal.notify()
        self.errors += problems
        return call, refusal

    async def _result(self, call: Call) -> object:
        if self.limits and call.method in _PACED and "chat_id" in call.parameters:
            self.limits.check(call.parameters["chat_id"], self.world.clock())
        result = HANDLERS[call.method](self.world, call.parameters)
        return await result if inspect.isawaitable(result) else result


async def _broken(fault: Fault, request: web.Request) -> web.StreamResponse | None:
    """Trouble that keeps the call from being carried out at all."""
    if fault.error == "hang":
        await asyncio.Event().wait()
    if fault.error == "drop_connection_before":
        return cut(request)
    if fault.error == "bad_gateway":
        return web.Response(status=502, text="<html>502</html>", content_type="text/html")
    return None


def _refuse(refusal: Refusal) -> web.Response:
    return web.json_response(refusal.payload(), status=refusal.code)
