"""Delivery by webhook: one update of a chat at a time, again until the answer is 2xx."""

import asyncio
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.fakes.stand_in import Changes
from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.updates import Update, UpdateQueue
from tests.network import is_local
from tests.patience import PATIENCE

SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_TIMEOUT = aiohttp.ClientTimeout(total=PATIENCE)


@dataclass
class Webhook:
    """Where updates are posted; an empty URL is none.

    As a self-hosted Bot API server does, it posts to plain http too; to loopback only.
    """

    updates: UpdateQueue
    signal: Changes
    url: str = ""
    secret: str | None = None
    max_connections: int = 40
    retry_seconds: float = 0.05
    failures: list[str] = field(default_factory=list)
    _busy: set[Hashable] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def point(self, url: str, secret: str | None, max_connections: int) -> None:
        """Post to another URL from now on; Refusal 400 for one that cannot be served."""
        if not is_local(urlsplit(url).hostname):
            raise bad_request(f"bad webhook: the stand-in posts to loopback only, not to {url}")
        if secret is not None and not SECRET.fullmatch(secret):
            raise bad_request("secret token contains unallowed characters")
        if not 1 <= max_connections <= 100:
            raise bad_request("max_connections must be between 1 and 100")
        self.url, self.secret, self.max_connections = url, secret, max_connections
        self.updates.interrupt("terminated by setWebhook request")

    def remove(self) -> None:
        self.url, self.secret = "", None

    def info(self) -> dict[str, Any]:
        """The WebhookInfo object."""
        body: dict[str, Any] = {
            "url": self.url,
            "has_custom_certificate": False,
            "pending_update_count": len(self.updates.pending),
        }
        if self.url:
            body["max_connections"] = self.max_connections
        if self.updates.allowed:
            body["allowed_updates"] = list(self.updates.allowed)
        if self.failures:
            body |= {"last_error_date": 1, "last_error_message": self.failures[-1]}
        return body

    async def run(self) -> None:
        """Deliver until cancelled."""
        try:
            async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
                while True:
                    update = await self.signal.until(self._next, None)
                    self._busy.add(_lane(update))
                    task = asyncio.create_task(self._deliver(session, update))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
        finally:
            for task in self._tasks:
                task.cancel()

    def _next(self) -> Update | None:
        if not self.url or len(self._busy) >= self.max_connections:
            return None
        pending = sorted(self.updates.pending.values(), key=lambda one: one.id)
        return next((one for one in pending if _lane(one) not in self._busy), None)

    async def _deliver(self, session: aiohttp.ClientSession, update: Update) -> None:
        fault = await self._post(session, update)
        if fault is None:
            self.updates.settle(update)
        else:
            self.failures.append(fault)
            await asyncio.sleep(self.retry_seconds)
        self._busy.discard(_lane(update))
        self.signal.notify()

    async def _post(self, session: aiohttp.ClientSession, update: Update) -> str | None:
        """What went wrong, if anything."""
        headers = {SECRET_HEADER: self.secret} if self.secret else {}
        body = self.updates.handed_out(update)
        try:
            async with session.post(
                self.url, json=body, headers=headers, allow_redirects=False
            ) as answer:
                if 200 <= answer.status < 300:
                    return None
                return f"Wrong response from the webhook: {answer.status} {answer.reason}"
        except (aiohttp.ClientError, TimeoutError) as error:
            return f"Connection failed: {error}"


def _lane(update: Update) -> Hashable:
    """Updates of one chat wait for each other."""
    return update.chat.id if update.chat else update.id
