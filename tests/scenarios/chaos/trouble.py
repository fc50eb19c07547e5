"""What goes wrong on a platform while posts are sent, at random, and what it excuses.

A message that was shown although its sender was never told so may be shown once more where the
platform cannot be asked. Each such case is noted with the post that it concerns.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tests.fakes.telegram.errors import bad_request, too_many_requests
from tests.scenarios.chaos.omens import codes

_SENDING = ("sendMessage", "chat.postMessage")
_ASKING = ("conversations.history",)
_CHAT = re.compile(rb'(?:\bchat_id=|"channel":\s*"|\bchannel=)(-?\w+)')
_MAX_WAIT = 5  # seconds that a 429 asks for, at most


@dataclass(frozen=True, order=True)
class Known:
    """What a post is known by: the platform's id of its chat, and the codes in it."""

    chat: str
    codes: tuple[str, ...]


# Share of the calls to which it happens; what comes after is answered as it should be.
SHARES: Mapping[str, float] = {
    "429": 0.04,
    "500": 0.03,
    "connection cut": 0.02,
    "no answer": 0.01,
    "shown, reply lost": 0.03,
    "shown, 500": 0.02,
    "shown, no answer": 0.01,
}


@dataclass
class Trouble:
    """Stands before the methods of one platform that send, and those that tell what was sent.

    `slow_down` makes the platform's 429, `refuse` what it says where nobody may write for a while,
    which it says of every post while `refuses` is true. `happened` counts what went wrong,
    `unknown` the posts that were shown without their sender learning of it.
    """

    slow_down: Callable[[int], web.Response]
    refuse: Callable[[], web.Response]
    seed: int
    shares: Mapping[str, float] = field(default_factory=lambda: SHARES)
    refuses: bool = False
    seconds: float = 0.0  # between the moment when a post is shown and the answer
    happened: Counter[str] = field(default_factory=Counter)
    unknown: Counter[Known] = field(default_factory=Counter)
    _shown_to: dict[int, Known] = field(default_factory=dict)  # the last post, by the sender's port
    _dead: set[int] = field(default_factory=set)
    _aim: "asyncio.Future[int] | None" = None

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    @property
    def middleware(self) -> Middleware:
        """What stands before the platform."""

        @web.middleware
        async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._answer(request, handler)

        return answer

    def cease(self) -> None:
        """From now on nothing goes wrong any more."""
        self.shares = {}

    def killed(self, ports: Iterable[int], unsettled: Container[Known]) -> int:
        """Note that the sender behind these ports was killed, which had not settled some posts.

        Return how many of them had been shown.
        """
        self._dead.update(ports)
        shown = [self._shown_to[port] for port in ports if port in self._shown_to]
        lost = [post for post in shown if post in unsettled]
        self.unknown.update(lost)
        return len(lost)

    async def sender(self) -> int:
        """Return the port of the next sender whose post has just been shown.

        It gets no answer.
        """
        self._aim = asyncio.get_running_loop().create_future()
        try:
            return await self._aim
        finally:
            self._aim = None

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        method = request.path.rpartition("/")[2]
        if method not in _SENDING + _ASKING:
            return await handler(request)
        if self.refuses and method in _SENDING:
            self.happened["refused for a while"] += 1
            return self.refuse()
        wrong = self._wrong()
        if wrong and (method in _ASKING or not wrong.startswith("shown")):
            self.happened[wrong] += 1
            return await self._instead(wrong.removeprefix("shown, "), request)
        if method in _ASKING:
            return await handler(request)
        return await self._sent(wrong, request, handler)

    def _wrong(self) -> str:
        drawn = self._chance.random()
        for name, share in self.shares.items():
            if (drawn := drawn - share) < 0:
                return name
        return ""

    async def _sent(self, wrong: str, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Show a post; then what is to happen happens."""
        post = known_by(await request.read())
        port = _port(request)
        answer = await handler(request)
        self._shown_to[port] = post
        await asyncio.sleep(self.seconds)
        if self._aim and not self._aim.done():
            self._aim.set_result(port)
            await _for_ever()  # whoever took aim tells `killed`
        gone = request.transport is None or request.transport.is_closing()
        if wrong or gone or port in self._dead:
            self.unknown[self._shown_to.pop(port)] += 1
        if not wrong:
            return answer
        self.happened[wrong] += 1
        return await self._instead(wrong.removeprefix("shown, "), request)

    async def _instead(self, wrong: str, request: web.Request) -> web.StreamResponse:
        if wrong == "429":
            return self.slow_down(self._chance.randint(1, _MAX_WAIT))
        if wrong == "500":
            return web.Response(status=500, text="<h1>No</h1>", content_type="text/html")
        if wrong == "no answer":
            await _for_ever()
        assert request.transport
        request.transport.abort()
        return web.Response()


def known_by(body: bytes) -> Known:
    """Return what the post in a request is known by."""
    chat = _CHAT.search(body)
    assert chat, body
    return Known(chat[1].decode(), codes(body))


def _port(request: web.Request) -> int:
    assert request.transport
    return int(request.transport.get_extra_info("peername")[1])


async def _for_ever() -> NoReturn:
    """Until the client hangs up."""
    await asyncio.Event().wait()
    raise AssertionError


def telegram_slows_down(seconds: int) -> web.Response:
    """The 429 of Telegram."""
    refusal = too_many_requests(seconds)
    return web.json_response(refusal.payload(), status=refusal.code)


def slack_slows_down(seconds: int) -> web.Response:
    """The 429 of Slack."""
    body = {"ok": False, "error": "ratelimited"}
    return web.json_response(body, status=429, headers={"Retry-After": str(seconds)})


def telegram_refuses() -> web.Response:
    """What Telegram says in a group where only admins may write just now."""
    refusal = bad_request("CHAT_WRITE_FORBIDDEN")
    return web.json_response(refusal.payload(), status=refusal.code)


def slack_refuses() -> web.Response:
    """What Slack says in a channel where only some may post just now."""
    return web.json_response({"ok": False, "error": "restricted_action"})
