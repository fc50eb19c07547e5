"""A stand-in for servers with a /rerank, over real sockets on loopback, each in its own form.

    async with RerankServer(form="tei") as server:
        settings = RerankSettings(base_url=server.base_url)

A text scores the share of the query's words that it holds. `script` replaces the answers: each
request takes its next step, the last one is repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from tests.fakes.stand_in import StandIn, Step

KEY = "key-for-tests-3"
_MAX_TEXTS = 32  # of Text Embeddings Inference


def score_of(query: str, text: str) -> float:
    words = set(query.casefold().split())
    return len(words & set(text.casefold().split())) / len(words)


@dataclass
class RerankServer(StandIn):
    """Listens on a free port of 127.0.0.1 and records the bodies of its requests."""

    form: Literal["cohere", "jina", "vllm", "tei"] = "cohere"
    script: Sequence[Step] = ()
    bodies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return self.root

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.post("/rerank", self._handle)]

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
    if len(body["texts"]) > _MAX_TEXTS:
        said = f"batch size {len(body['texts'])} > maximum allowed batch size {_MAX_TEXTS}"
        return web.json_response({"error": said, "error_type": "Validation"}, status=413)
    ranks = [
        {"index": place, "score": score_of(body["query"], text)}
        for place, text in enumerate(body["texts"])
    ]
    return web.json_response(sorted(ranks, key=lambda one: -one["score"]))
