"""A stand-in for servers with a /rerank, over real sockets on loopback, each in its own form.

    async with RerankServer(form="tei") as server:
        settings = RerankSettings(base_url=server.base_url)

A text scores the share of the query's words that it holds. `script` replaces the answers: each
request takes its next step, the last one is repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

KEY = "key-for-tests-3"
_MOST_TEXTS = 32  # of Text Embeddings Inference

Step = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answer(payload: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """Any JSON under any status."""

    async def step(_: web.Request) -> web.StreamResponse:
        return web.json_response(payload, status=status, headers=headers)

    return step


def slow(seconds: float = 3600) -> Step:
    """No answer for so long."""

    async def step(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response([])

    return step


def score_of(query: str, text: str) -> float:
    words = set(query.casefold().split())
    return len(words & set(text.casefold().split())) / len(words)


@dataclass
class RerankServer:
    """Listens on a free port of 127.0.0.1 and records the bodies of its requests."""

    form: Literal["cohere", "jina", "vllm", "tei"] = "cohere"
    script: Sequence[Step] = ()
    bodies: list[dict[str, Any]] = field(default_factory=list)
    _runner: web.AppRunner | None = None
    _port: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/rerank", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        if self.script:
            return await self.script[min(len(self.bodies), len(self.script)) - 1](request)
        if self.form == "tei":
            return _inference(body)
        if request.headers.get("Authorization") != f"Bearer {KEY}" and self.form != "vllm":
            return web.json_response({"message": "invalid api token"}, status=401)
        if "documents" not in body or ("model" not in body and self.form != "vllm"):
            return web.json_response({"message": "invalid request"}, status=400)
        return web.json_response(self._documents(body))

    def _documents(self, body: Mapping[str, Any]) -> dict[str, Any]:
        texts = body["documents"]
        results: list[dict[str, Any]] = [
            {"index": place, "relevance_score": score_of(body["query"], text)}
            | ({} if self.form == "cohere" else {"document": {"text": text}})
            for place, text in enumerate(texts)
        ]
        results.sort(key=lambda one: -one["relevance_score"])
        if self.form == "cohere":
            billed = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
            return {"id": "07734bd2", "results": results, "meta": billed}
        return {"model": body.get("model"), "usage": {"total_tokens": 815}, "results": results}


def _inference(body: Mapping[str, Any]) -> web.Response:
    if "texts" not in body:
        said = "Failed to deserialize the JSON body into the target type: missing field `texts`"
        return web.Response(text=f"{said} at line 1 column 61", status=422)
    if len(body["texts"]) > _MOST_TEXTS:
        said = f"batch size {len(body['texts'])} > maximum allowed batch size {_MOST_TEXTS}"
        return web.json_response({"error": said, "error_type": "Validation"}, status=413)
    ranks = [
        {"index": place, "score": score_of(body["query"], text)}
        for place, text in enumerate(body["texts"])
    ]
    return web.json_response(sorted(ranks, key=lambda one: -one["score"]))
