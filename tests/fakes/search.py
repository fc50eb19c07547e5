"""A stand-in for search providers, over real sockets on loopback, each in its own JSON.

    async with SearchServer() as server:
        server.found["harbour"] = [Hit("https://harbour.example/report", "Harbour traffic")]
        provider = HttpSearch("exa", settings, key=KEY, url=server.url("exa"))

A query is answered with the hits of the words of `found` that it holds. `script` replaces the
answers of a provider: each request takes its next step, the last one is repeated. A request that
the real provider would refuse is refused as it does, before any step runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes import stand_in
from tests.fakes.stand_in import StandIn, Step, answer

dropped = stand_in.dropped
KEY = "key-for-tests-1"
PATHS = {
    "exa": "/exa/search",
    "serper": "/serper/search",
    "brave": "/brave/res/v1/web/search",
    "tavily": "/tavily/search",
    "searxng": "/searxng/search",
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a search finds; `text` is what Exa returns of it."""

    url: str
    title: str
    snippet: str = ""
    text: str = ""
    date: str | None = None


def garbage(body: bytes = b"<html>not JSON</html>") -> Step:
    """A good status, and nothing in it that can be read."""

    async def step(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type="application/json")

    return step


def brave_limit(*, remaining: str, reset: str) -> Step:
    error = {"code": "RATE_LIMITED", "detail": "Request rate limit"}
    headers = {"X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset}
    return answer({"type": "ErrorResponse", "error": error}, 429, headers)


# What providers say when the credits of an account are spent, and when it asks too fast.
SPENT: Mapping[str, Step] = {
    "exa": answer(
        {"error": "You have exceeded your credits limit.", "tag": "NO_MORE_CREDITS"}, 402
    ),
    "serper": answer({"message": "Not enough credits", "statusCode": 400}, 400),
    "brave": brave_limit(remaining="1, 0", reset="1, 86000"),
    "tavily": answer(
        {"detail": {"error": "This request exceeds your plan's set usage limit."}}, 432
    ),
}
LIMITED: Mapping[str, Step] = {
    "exa": answer({"error": "Rate limit exceeded"}, 429),
    "serper": answer({"message": "Too many requests", "statusCode": 429}, 429),
    "brave": brave_limit(remaining="0, 812", reset="2, 86000"),
    "tavily": answer({"detail": {"error": "Excessive requests."}}, 429, {"Retry-After": "7"}),
    "searxng": answer({"error": "too many"}, 429),
}


@dataclass
class SearchServer(StandIn):
    """Listens on a free port of 127.0.0.1 and records the queries that each provider gets."""

    found: dict[str, Sequence[Hit]] = field(default_factory=dict)
    script: dict[str, list[Step]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)  # provider and query
    json_allowed: bool = True  # by the settings of SearXNG
    busy: int = 0  # requests under way

    def url(self, provider: str) -> str:
        """The address of a provider's search."""
        return f"{self.root}{PATHS[provider]}"

    def queries(self, provider: str) -> list[str]:
        """The queries that a provider got, in order."""
        return [query for name, query in self.asked if name == provider]

    def routes(self) -> Sequence[web.RouteDef]:
        return [
            web.post(PATHS["exa"], self._exa),
            web.post(PATHS["serper"], self._serper),
            web.get(PATHS["brave"], self._brave),
            web.post(PATHS["tavily"], self._tavily),
            web.get(PATHS["searxng"], self._searxng),
        ]

    async def _exa(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if request.headers.get("x-api-key") != KEY:
            return web.json_response(
                {"error": "Invalid API key", "tag": "INVALID_API_KEY"}, status=401
            )
        if unknown := body.keys() - {"query", "numResults", "type", "contents"}:
            return web.json_response({"error": f"Unknown: {sorted(unknown)}"}, status=400)
        results = [
            {
                "id": hit.url,
                "url": hit.url,
                "title": hit.title,
                "publishedDate": hit.date,
                "author": None,
                **({"text": hit.text} if "text" in body["contents"] else {}),
            }
            for hit in self._hits(body["query"], body["numResults"])
        ]
        cost = {"total": 0.007, "search": {"neural": 0.007}}
        payload = {"requestId": "b5947044c4b78efa", "results": results, "costDollars": cost}
        return await self._answered("exa", body["query"], payload, request)

    async def _serper(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if request.headers.get("X-API-KEY") != KEY:
            return web.json_response({"message": "Unauthorized.", "statusCode": 403}, status=403)
        organic = [
            {"title": hit.title, "link": hit.url, "snippet": hit.snippet, "position": place}
            | ({"date": "3 days ago"} if hit.date else {})
            for place, hit in enumerate(self._hits(body["q"], body["num"]), start=1)
        ]
        searched = {"q": body["q"], "type": "search", "num": body["num"], "engine": "google"}
        payload = {"searchParameters": searched, "organic": organic, "credits": 1}
        return await self._answered("serper", body["q"], payload, request)

    async def _brave(self, request: web.Request) -> web.StreamResponse:
        query, count = request.query["q"], int(request.query["count"])
        if request.headers.get("X-Subscription-Token") != KEY:
            detail = {
                "code": "SUBSCRIPTION_TOKEN_INVALID",
                "detail": "The provided subscription token is invalid.",
            }
            return web.json_response({"type": "ErrorResponse", "error": detail}, status=422)
        if len(query) > 400 or len(query.split()) > 50 or not 1 <= count <= 20:
            detail = {"code": "VALIDATION", "detail": "Unable to validate request parameter(s)"}
            return web.json_response({"type": "ErrorResponse", "error": detail}, status=422)
        results = [
            {
                "type": "search_result",
                "title": hit.title,
                "url": hit.url,
                "description": hit.snippet,
                "page_age": hit.date,
            }
            for hit in self._hits(query, count)
        ]
        payload: dict[str, Any] = {"type": "search", "query": {"original": query}}
        if results:
            payload["web"] = {"type": "search", "results": results}
        return await self._answered("brave", query, payload, request)

    async def _tavily(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            said = {"detail": {"error": "Unauthorized: missing or invalid API key."}}
            return web.json_response(said, status=401)
        if len(body["query"]) > 400:
            return web.json_response({"detail": {"error": "Query is too long."}}, status=400)
        results = [
            {
                "url": hit.url,
                "title": hit.title,
                "content": hit.snippet,
                "score": 0.9,
                "raw_content": None,
            }
            for hit in self._hits(body["query"], body["max_results"])
        ]
        payload = {"query": body["query"], "answer": None, "images": [], "results": results}
        return await self._answered("tavily", body["query"], payload, request)

    async def _searxng(self, request: web.Request) -> web.StreamResponse:
        query = request.query["q"]
        if request.query.get("format") != "json":
            return web.Response(text="<html>results</html>", content_type="text/html")
        if not self.json_allowed:
            return web.Response(text="<h1>Forbidden</h1>", status=403, content_type="text/html")
        results = [
            {
                "url": hit.url,
                "title": hit.title,
                "content": hit.snippet,
                "publishedDate": hit.date,
                "engine": "duckduckgo",
            }
            for hit in self._hits(query, 50)
        ]
        payload = {
            "query": query,
            "number_of_results": 0,
            "results": results,
            "unresponsive_engines": [["google", "Suspended: CAPTCHA"]],
        }
        return await self._answered("searxng", query, payload, request)

    def _hits(self, query: str, limit: int) -> list[Hit]:
        hits = [hit for word, some in self.found.items() if word in query for hit in some]
        return hits[:limit]

    async def _answered(
        self, provider: str, query: str, payload: object, request: web.Request
    ) -> web.StreamResponse:
        self.asked.append((provider, query))
        self.busy += 1
        try:
            if steps := self.script.get(provider):
                number = len(self.queries(provider)) - 1
                return await steps[min(number, len(steps) - 1)](request)
            return web.json_response(payload)
        finally:
            self.busy -= 1
