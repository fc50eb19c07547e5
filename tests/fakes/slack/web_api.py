"""The Web API: reads a request, checks token and scope, and calls the method."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.slack.app import METHOD_SCOPES, App
from tests.fakes.slack.faults import FaultPlan, before_processing
from tests.fakes.slack.wire import Json, Refusal
from tests.fakes.stand_in import Changes, cut

Method = Callable[[Json], Json]
APP_LEVEL = {"apps.connections.open"}
_STRUCTURED = {"blocks", "attachments", "metadata", "files"}


@dataclass(eq=False)
class Call:
    """One recorded call; `answer` is None if nothing was processed or said."""

    method: str
    arguments: Json
    token: str
    at: float
    answer: Json | None = None


@dataclass
class WebApi:
    """`methods` by name; `bot_token` and `app_token` are the only ones known."""

    app: App
    methods: Mapping[str, Method]
    changes: Changes
    faults: FaultPlan
    bot_token: str
    app_token: str
    calls: list[Call] = field(default_factory=list)
    used_scopes: set[str] = field(default_factory=set)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments, token = await read_arguments(request)
        call = Call(method, arguments, token, asyncio.get_running_loop().time())
        self.calls.append(call)
        self.changes.notify()
        fault = self.faults.take(method)
        if fault and (answer := await before_processing(fault, request)):
            return answer
        call.answer = self._answer(call)
        self.changes.notify()
        if fault and fault.drop_after:
            return cut(request)
        scopes = ",".join(sorted(self.app.scopes or set(METHOD_SCOPES.values())))
        return web.json_response(call.answer, headers={"x-oauth-scopes": scopes})

    def _answer(self, call: Call) -> Json:
        try:
            self._check_token(call)
            self._check_scope(call)
            return {"ok": True, **self._method(call)(call.arguments)}
        except Refusal as refusal:
            return refusal.body

    def _method(self, call: Call) -> Method:
        if call.method not in self.methods:
            raise Refusal("unknown_method")
        return self.methods[call.method]

    def _check_token(self, call: Call) -> None:
        if not call.token:
            raise Refusal("not_authed")
        if call.token not in (self.bot_token, self.app_token):
            raise Refusal("invalid_auth")
        if (call.token == self.app_token) != (call.method in APP_LEVEL):
            raise Refusal("not_allowed_token_type")

    def _check_scope(self, call: Call) -> None:
        scope = METHOD_SCOPES.get(call.method, "")
        if scope and "{" not in scope:  # the others need the conversation, so their method asks
            self.require(scope)

    def require(self, scope: str) -> None:
        """missing_scope unless granted; remembers that it was of use."""
        self.app.require(scope)
        self.used_scopes.add(scope)


async def read_arguments(request: web.Request) -> tuple[Json, str]:
    """Arguments and token of a call, from query, form or JSON, with structured fields decoded."""
    fields: Json = dict(request.query)
    if request.content_type == "application/json":
        fields |= await request.json()
    else:
        fields |= {name: str(value) for name, value in (await request.post()).items()}
    header = request.headers.get("Authorization", "").removeprefix("Bearer ")
    token = str(fields.pop("token", "")) or header
    return {name: _decoded(name, value) for name, value in fields.items()}, token


def _decoded(name: str, value: Any) -> Any:
    if name not in _STRUCTURED or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def required(arguments: Json, *names: str) -> list[str]:
    """Those arguments; invalid_arguments if one is missing or empty."""
    missing = [name for name in names if arguments.get(name) in (None, "")]
    if missing:
        messages = [f"[ERROR] missing required field: {name}" for name in missing]
        raise Refusal("invalid_arguments", response_metadata={"messages": messages})
    return [str(arguments[name]) for name in names]


def flag(arguments: Json, name: str) -> bool:
    """A boolean as JSON or a form writes it."""
    return str(arguments.get(name, "")).lower() in ("true", "1")
