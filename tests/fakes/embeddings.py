"""A stand-in for an OpenAI-compatible embeddings server, over real sockets on loopback.

    async with EmbeddingServer() as server:
        server.script = [refusal(429, {"retry-after": "0"}), vectors()]

Each request takes the next step of the script; the last step is repeated. Requests that a real
server would refuse are refused with 400 before any step runs.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes import stand_in
from tests.fakes.stand_in import StandIn

Step = stand_in.Step
answer, slow = stand_in.answer, stand_in.slow

DIMENSIONS = 8
_FIELDS = frozenset({"model", "input", "dimensions"})
_MAX_TEXTS = 2048


@dataclass(frozen=True, slots=True)
class Asked:
    """One recorded request."""

    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def texts(self) -> list[str]:
        return list(self.body["input"])


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The vector that the stand-in gives a text: another one for every text."""
    digest = hashlib.blake2b(text.encode(), digest_size=64).digest()
    return [digest[place % 64] / 256 - 0.5 for place in range(dimensions)]


def vectors(
    *,
    shuffled: bool = False,
    usage: Mapping[str, object] | None = None,
    dimensions: int = DIMENSIONS,
) -> Step:
    """A good answer; `shuffled` in another order than asked, as `index` allows."""

    async def step(asked: Asked, _: web.Request) -> web.StreamResponse:
        length = asked.body.get("dimensions", dimensions)
        data = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, length)}
            for index, text in enumerate(asked.texts)
        ]
        return web.json_response(
            {
                "data": data[::-1] if shuffled else data,
                "model": asked.body["model"],
                "usage": usage if usage is not None else {"prompt_tokens": 5 * len(data)},
            }
        )

    return step


def refusal(status: int, headers: Mapping[str, str] | None = None, said: str = "no") -> Step:
    """An error in OpenAI's envelope."""
    return answer({"error": {"message": said}}, status, headers)


@dataclass
class EmbeddingServer(StandIn):
    """Listens on a free port of 127.0.0.1 and counts what it is asked."""

    script: Sequence[Step] = field(default_factory=lambda: [vectors()])
    requests: list[Asked] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    @property
    def texts(self) -> list[str]:
        """All texts that were asked for, in order."""
        return [text for asked in self.requests for text in asked.texts]

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.post("/v1/embeddings", self._handle)]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(await request.json(), dict(request.headers))
        self.requests.append(asked)
        if fault := _fault(asked.body):
            return web.json_response({"error": {"message": fault}}, status=400)
        step = self.script[min(self.calls, len(self.script)) - 1]
        return await step(asked, request)


def _fault(body: Mapping[str, Any]) -> str | None:
    if unknown := sorted(body.keys() - _FIELDS):
        return f"Unrecognized request arguments supplied: {', '.join(unknown)}"
    texts = body.get("input")
    if not isinstance(texts, list) or not 0 < len(texts) <= _MAX_TEXTS or not all(texts):
        return "'$.input' is invalid."
    return None
