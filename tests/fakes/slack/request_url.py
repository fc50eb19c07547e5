"""The other way to the app: signed HTTP requests to its request URL."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp

from tests.fakes.slack.delivery import Attempt, Envelope
from tests.fakes.slack.wire import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """How a request is signed: with the app's secret and now, unless a test wants otherwise.

    `age` in seconds puts the timestamp into the past; any other `secret` gives a bad signature.
    """

    age: int = 0
    secret: str = ""


HONEST = Signing()


def signed_headers(body: bytes, *, secret: str, timestamp: int) -> dict[str, str]:
    """Version 0 of Slack's signatures: docs.slack.dev/authentication/verifying-requests."""
    base = b"v0:%d:%b" % (timestamp, body)
    signature = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(timestamp), "X-Slack-Signature": f"v0={signature}"}


def encoded(envelope: Envelope) -> tuple[bytes, str]:
    """Body and content type: events as JSON, the rest as forms."""
    if envelope.kind == "events_api":
        return json.dumps(envelope.payload).encode(), "application/json"
    fields = envelope.payload
    if envelope.kind == "interactive":
        fields = {"payload": json.dumps(envelope.payload)}
    return urlencode(fields).encode(), "application/x-www-form-urlencoded"


@dataclass
class RequestUrl:
    """Delivers to `url`. An answer of 2xx acknowledges."""

    url: str
    secret: str
    clock: Callable[[], float]
    timeout: float
    acknowledge: Callable[[str, Json | None], None]
    signing: Signing = HONEST

    async def send(self, envelope: Envelope, attempt: Attempt) -> str:
        """Post once; returns Slack's reason if that failed."""
        body, content_type = encoded(envelope)
        retry = {"X-Slack-Retry-Num": str(attempt.number), "X-Slack-Retry-Reason": attempt.reason}
        headers = {"Content-Type": content_type, **(retry if attempt.number else {})}
        try:
            status, answer = await self.post(body, headers)
        except TimeoutError:
            return "http_timeout"
        except aiohttp.ClientError:
            return "connection_failed"
        if not 200 <= status < 300:
            return "http_error"
        self.acknowledge(envelope.id, _payload(answer))
        return ""

    async def verify(self) -> None:
        """Ask for the challenge back, as Slack does when the address is entered."""
        challenge = {"token": "t", "challenge": "3eZbrw1aBm2rZg", "type": "url_verification"}
        headers = {"Content-Type": "application/json"}
        status, answer = await self.post(json.dumps(challenge).encode(), headers)
        shown = _payload(answer) or {}
        returned = shown.get("challenge", shown.get("text"))
        assert (status, returned) == (200, challenge["challenge"]), (status, answer)

    async def post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        """Sign and send any body; returns status and text of the answer."""
        timestamp = int(self.clock()) - self.signing.age
        secret = self.signing.secret or self.secret
        signed = {**headers, **signed_headers(body, secret=secret, timestamp=timestamp)}
        async with (
            asyncio.timeout(self.timeout),
            aiohttp.ClientSession() as session,
            session.post(self.url, data=body, headers=signed) as response,
        ):
            return response.status, await response.text()


def _payload(answer: str) -> Json | None:
    if not answer:
        return None
    try:
        parsed: Any = json.loads(answer)
    except ValueError:
        return {"text": answer}
    return parsed if isinstance(parsed, dict) else {"text": answer}
