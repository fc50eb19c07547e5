"""A stand-in for an OpenAI-compatible chat server, over real sockets on loopback.

    async with ModelServer() as server:
        server.script = [failure(503), answer('{"n": 1, "scores": [[1, 6]]}')]
        ...
        assert server.calls == 2

Each request takes the next step of the script; the last step is repeated. Requests that a real
server would refuse are refused with 400 before any step runs.

Requests for phrases, and which headlines tell the same, are told apart and counted apart: they are
answered by `phrases` and `retellings`, with none unless a test says otherwise.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

from engine.budget import Budget
from engine.llm.client import BREAKER_FAILURES, ChatClient
from engine.llm.spending import Account
from engine.settings.models import LlmSettings
from tests.fakes import stand_in
from tests.fakes.ports import MemoryLedger
from tests.fakes.stand_in import StandIn
from tests.patience import PATIENCE

slow, dropped = stand_in.slow, stand_in.dropped
USAGE: Mapping[str, object] = {"prompt_tokens": 7000, "completion_tokens": 120, "cost": 0.002}

# What each kind of server knows; anything else is a 400 there.
BASIC_FIELDS = frozenset({"model", "messages", "max_completion_tokens", "response_format"})
PLAIN_FIELDS = BASIC_FIELDS | {"reasoning_effort", "max_tokens"}
OPENROUTER_FIELDS = BASIC_FIELDS | {"models", "reasoning", "provider"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One recorded request."""

    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def prompt(self) -> str:
        """The last user message."""
        return str(self.body["messages"][-1]["content"])

    @property
    def for_phrases(self) -> bool:
        """Whether phrases are asked for; a server that refused the schema is not told by it."""
        schema = self.body.get("response_format", {}).get("json_schema", {})
        system = self.body["messages"][0]["content"]
        return schema.get("name") == "expansion" or '{"phrases"' in system

    @property
    def for_retellings(self) -> bool:
        """Whether headlines are compared."""
        return '{"same"' in self.body["messages"][0]["content"]

    @property
    def headline(self) -> str:
        """The headline: after the archive for a judge, a value where phrases are asked for, else
        the first line."""
        if self.for_phrases:
            return str(json.loads(self.prompt)["headline"])
        first, _, rest = self.prompt.partition("\n")
        return rest.partition("\n")[0] if first.startswith("archive: ") else first

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """The candidates as a stranger reads them: one a line, after the headline."""
        _, _, lines = self.prompt.partition(f"{self.headline}\n")
        return [_read_line(line) for line in lines.split("\n") if line]


def _read_line(line: str) -> dict[str, Any]:
    """Read one candidate: a JSON object, or number, date and text with tabs between them."""
    if line.startswith("{"):
        found: dict[str, Any] = json.loads(line)
        return found
    number, day, text = line.split("\t")
    return {"i": int(number), "date": day, "text": text}


Step = Callable[[Asked, web.Request], Awaitable[web.StreamResponse]]


@dataclass
class ModelServer(StandIn):
    """Listens on a free port of 127.0.0.1 and counts what it is asked."""

    script: Sequence[Step] = ()
    openrouter: bool = False
    requests: list[Asked] = field(default_factory=list)
    phrases: "Step | None" = None
    expansions: list[Asked] = field(default_factory=list)
    retellings: "Step | None" = None
    comparisons: list[Asked] = field(default_factory=list)
    _arrival: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def base_url(self) -> str:
        return f"{self.root}/api/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    async def until_asked(self, times: int) -> None:
        """Return when that many requests have arrived."""
        async with asyncio.timeout(PATIENCE), self._arrival:
            await self._arrival.wait_for(lambda: self.calls >= times)

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.post("/api/v1/chat/completions", self._handle)]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(await request.json(), dict(request.headers))
        if asked.for_phrases:
            self.expansions.append(asked)
            return await self._answer_apart(asked, request, self.phrases or naming())
        if asked.for_retellings:
            self.comparisons.append(asked)
            return await self._answer_apart(
                asked, request, self.retellings or answer('{"same": []}')
            )
        self.requests.append(asked)
        async with self._arrival:
            self._arrival.notify_all()
        if fault := _refusal(asked.body, openrouter=self.openrouter):
            return web.json_response({"error": {"code": 400, "message": fault}}, status=400)
        step = self.script[min(self.calls, len(self.script)) - 1]
        return await step(asked, request)

    async def _answer_apart(
        self, asked: Asked, request: web.Request, step: Step
    ) -> web.StreamResponse:
        if fault := _refusal(asked.body, openrouter=self.openrouter):
            return web.json_response({"error": {"code": 400, "message": fault}}, status=400)
        return await step(asked, request)


class Reachable(Protocol):
    """A server with a chat endpoint."""

    @property
    def base_url(self) -> str: ...


def client_of(
    server: Reachable,
    *,
    ledger: MemoryLedger | None = None,
    budget: Budget | None = None,
    api_key: str | None = None,
    clock: Callable[[], float] = time.monotonic,
    breaker_failures: int = BREAKER_FAILURES,
    **settings: Any,
) -> ChatClient:
    """Return a client that asks a stand-in, with other settings where they are given."""
    values = {"base_url": server.base_url, "total_timeout": PATIENCE / 2} | settings
    return ChatClient(
        LlmSettings(**values),
        api_key=api_key,
        account=Account(ledger or MemoryLedger(), budget or Budget()),
        clock=clock,
        breaker_failures=breaker_failures,
    )


def _refusal(body: Mapping[str, Any], *, openrouter: bool) -> str | None:
    """What real servers reject: unknown fields, sampling parameters, loose strict schemas."""
    known = OPENROUTER_FIELDS if openrouter else PLAIN_FIELDS
    if unknown := sorted(body.keys() - known):
        return f"Unrecognized request arguments supplied: {', '.join(unknown)}"
    if not body.get("messages") or body["messages"][-1]["role"] != "user":
        return "The last message must be of the user."
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]
        inner = schema["schema"]
        loose = set(inner["required"]) != set(inner["properties"])
        if schema["strict"] is not True or loose or inner["additionalProperties"] is not False:
            return "Invalid schema for response_format"
    return None


def answer(
    content: object,
    *,
    finish_reason: str | None = "stop",
    usage: Mapping[str, object] | None = USAGE,
    model: str = "stand-in/model",
) -> Step:
    """A completion with that content."""
    return judging(lambda _: content, finish_reason=finish_reason, usage=usage, model=model)


def judging(
    judge: Callable[[Asked], object],
    *,
    finish_reason: str | None = "stop",
    usage: Mapping[str, object] | None = USAGE,
    model: str = "stand-in/model",
) -> Step:
    """A completion whose content is computed from the request."""

    async def step(asked: Asked, _: web.Request) -> web.StreamResponse:
        message = {"role": "assistant", "content": judge(asked)}
        choice = {"index": 0, "message": message, "finish_reason": finish_reason}
        return web.json_response({"model": model, "choices": [choice], "usage": usage})

    return step


def scoring(score: Callable[[str, dict[str, Any]], int]) -> Step:
    """A well-behaved judge: `score(headline, candidate)` for every candidate.

    What scores 5 or more is a prediction.
    """

    def judge(asked: Asked) -> str:
        pairs = [
            (candidate["i"], score(asked.headline, candidate)) for candidate in asked.candidates
        ]
        scores = [
            [number, value, "p"] if value >= 5 else [number, value]
            for number, value in pairs
            if value >= 1
        ]
        return json.dumps({"n": len(pairs), "scores": scores})

    return judging(judge)


def naming(*phrases: str, usage: Mapping[str, object] | None = None) -> Step:
    """A model that says that an account would have written these phrases."""
    return answer(json.dumps({"phrases": phrases}), usage=usage)


def failure(
    status: int, message: str = "it failed", headers: Mapping[str, str] | None = None
) -> Step:
    """An error in the envelope that OpenRouter and OpenAI use."""
    return raw(json.dumps({"error": {"code": status, "message": message}}), status, headers)


def raw(body: str | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """Any body under any status."""
    content = body.encode() if isinstance(body, str) else body

    async def step(_: Asked, __: web.Request) -> web.StreamResponse:
        return web.Response(
            body=content, status=status, headers=headers, content_type="application/json"
        )

    return step


async def cut_in_the_body(_: Asked, request: web.Request) -> web.StreamResponse:
    """Promise a long body, send a little of it, and cut the connection."""
    response = web.StreamResponse(headers={"Content-Length": "5000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.abort()
    return response


async def endless(_: Asked, request: web.Request) -> web.StreamResponse:
    """Send a body that does not end until the client hangs up."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" " * (1 << 16))
