"""Stand-ins for servers of one's own, over real sockets, each with the dialect of its kind.

They refuse, sort and count as the servers' issue trackers tell: llama.cpp's, Mistral's API and LM
Studio's. What they are asked and how they judge is as in tests.fakes.model.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.model import Asked
from tests.fakes.stand_in import StandIn


@dataclass
class DialectServer(StandIn):
    """Judges as a test says, in the dialect of a kind of server."""

    judge: Callable[[Asked], str] = lambda _: "{}"
    requests: list[Asked] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1/chat/completions", self._complete)]

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(await request.json(), dict(request.headers))
        self.requests.append(asked)
        refused = self.refuse(asked.body)
        if refused:
            status, payload = refused
            return web.json_response(payload, status=status)
        return web.json_response(self.answer(self.judge(asked)))

    def refuse(self, body: Mapping[str, Any]) -> tuple[int, object] | None:
        """Return status and body of a refusal, or None."""
        raise NotImplementedError

    def answer(self, content: str) -> Mapping[str, object]:
        """Return the body of a completion."""
        raise NotImplementedError


class LlamaCpp(DialectServer):
    """llama-server: turns schemas into grammars, some of which it cannot; knows few fields."""

    def refuse(self, body: Mapping[str, Any]) -> tuple[int, object] | None:
        schema = json.dumps(body.get("response_format", {}))
        if "additionalProperties" in schema:
            said = "Failed to parse grammar: unsupported keyword additionalProperties"
            return 400, {"error": {"code": 400, "message": said, "type": "invalid_request_error"}}
        return None

    def answer(self, content: str) -> Mapping[str, object]:
        message = {"role": "assistant", "content": "", "reasoning_content": f"So it is {content}"}
        return {
            "model": "gguf",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940},
            "timings": {"predicted_ms": 1},
        }


class Mistral(DialectServer):
    """Mistral's API: refuses each field that it does not know, all with one status."""

    KNOWN = frozenset({"model", "messages", "max_tokens", "response_format"})

    def refuse(self, body: Mapping[str, Any]) -> tuple[int, object] | None:
        if not (unknown := body.keys() - self.KNOWN):
            return None
        detail = [
            {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs not permitted"}
            for name in sorted(unknown)
        ]
        return 422, {"object": "error", "message": {"detail": detail}, "code": None}

    def answer(self, content: str) -> Mapping[str, object]:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": '{"n": 1}'}]}
        message = {
            "role": "assistant",
            "content": [thought, {"type": "text", "text": f"```json\n{content}\n```"}],
        }
        return {
            "model": "small",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": "900", "completion_tokens": "40"},
        }


class LmStudio(DialectServer):
    """LM Studio: knows no json_schema for some models, says so with 500, reports no usage."""

    def refuse(self, body: Mapping[str, Any]) -> tuple[int, object] | None:
        if "response_format" in body:
            return 500, {"error": "json_schema is not supported by this model"}
        return None

    def answer(self, content: str) -> Mapping[str, object]:
        call = {"type": "function", "function": {"name": "judge", "arguments": content}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {
            "model": "local",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
            "usage": {"prompt_tokens": None, "completion_tokens": None},
        }
