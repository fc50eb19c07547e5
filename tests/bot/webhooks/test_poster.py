"""What becomes of an event at receivers that accept, refuse, redirect, silent or are not there."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from bot import webhooks as module
from bot.adapter import DeliveryError, DeliveryRefused, Poster, SlowDown, Unsure
from bot.i18n.words import words_for
from bot.reply import Event, Reply
from bot.settings.sections import WebhookSettings
from bot.webhooks import WebhookOff, WebhookPoster, WebhookTarget
from engine.chat import WEBHOOKS, Chat
from tests.fakes.web import Answer, WebServer, huge_headers, reply, reset, silent
from tests.patience import PATIENCE, movable_time

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
CHAT = Chat(id=1, platform=WEBHOOKS, external_id="news", private=True)
EVENT = Event(id="msg_1", body=b'{"type":"prophecy.found"}')
LOOPBACK = ("127.0.0.0/8",)


async def posted(
    url: str,
    *,
    networks: tuple[str, ...] = LOOPBACK,
    chat: Chat = CHAT,
    event: Event | None = EVENT,
) -> str:
    """Post an event to a webhook `news` at `url`."""
    hook = WebhookSettings(name="news", url=url, allow_networks=networks)
    targets = {"news": WebhookTarget(settings=hook, keys=(b"k" * 32,))}
    poster: Poster = WebhookPoster(targets, contact="me@example.org", now=lambda: NOW)
    try:
        message = Reply(words=words_for("en"), event=event)
        assert await poster.find_posted(chat, None, "key", NOW) is None
        return await poster.post(chat, None, message, key="key")
    finally:
        await poster.close()


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_any_2xx_accepts_the_event(status: int) -> None:
    async with WebServer() as web:
        web.pages["/hook"] = reply(status)
        assert await posted(web.url("/hook")) == "msg_1"
        (request,) = web.requests
    assert (request.method, request.body) == ("POST", EVENT.body)
    assert request.headers["webhook-id"] == "msg_1"
    assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert request.headers["content-type"] == "application/json"
    assert "me@example.org" in request.headers["user-agent"]


@pytest.mark.parametrize(
    ("status", "headers", "kind", "said"),
    [
        (400, {}, DeliveryError, "did not accept the event (400)"),
        (500, {}, DeliveryError, "did not accept the event (500)"),
        (503, {}, DeliveryError, "did not accept the event (503)"),
        (301, {"Location": "/there"}, DeliveryError, "redirects (301)"),
        (307, {"Location": "http://10.0.0.1/"}, DeliveryError, "redirects (307)"),
        (410, {}, WebhookOff, "wants no more events"),
        (429, {"Retry-After": "90"}, SlowDown, "90 s"),
        (503, {"Retry-After": "Sat, 14 Mar 2026 09:32:00 GMT"}, SlowDown, "120 s"),
        (429, {"Retry-After": "999999"}, SlowDown, "3600 s"),
    ],
)
async def test_other_statuses_raise_delivery_errors_without_redirects(
    status: int, headers: Mapping[str, str], kind: type[DeliveryError], said: str
) -> None:
    async with WebServer() as web:
        web.pages["/hook"] = reply(status, headers=headers)
        web.pages["/there"] = reply(200)
        with pytest.raises(DeliveryError) as caught:
            await posted(web.url("/hook"))
        assert web.asked == ["/hook"], "no redirect is followed"
    assert type(caught.value) is kind
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [(silent, "took longer"), (huge_headers, "too many pieces"), (reset, "broke|No connection")],
)
async def test_missing_response_raises_unsure(
    answer: Answer, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECONDS", PATIENCE)
    async with WebServer() as web:
        web.pages["/hook"] = answer
        with movable_time() as move:
            posting = asyncio.create_task(posted(web.url("/hook")))
            while answer is silent and not web.requests:  # noqa: ASYNC110 - nobody is told
                await asyncio.sleep(0.01)
            if answer is silent:
                move(PATIENCE)
            with pytest.raises(Unsure, match=said):
                await posting
        assert web.requests[0].body == EVENT.body


async def test_dead_receiver_raises_a_retryable_error() -> None:
    async with WebServer() as web:
        url = web.url("/hook")
    with pytest.raises(DeliveryError, match="No connection to"):
        await posted(url)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254"])
async def test_a_private_address_is_refused_unless_it_is_allowed(host: str) -> None:
    async with WebServer() as web:
        web.pages["/hook"] = reply(200)
        with pytest.raises(DeliveryError, match="no address of the public web") as caught:
            await posted(f"http://{host}:{web.port}/hook", networks=())
        assert web.connections == 0
    assert not isinstance(caught.value, DeliveryRefused), "a name may have another address tomorrow"


async def test_unknown_webhook_or_missing_event_raises_delivery_refused() -> None:
    stranger = Chat(id=2, platform=WEBHOOKS, external_id="removed", private=True)
    with pytest.raises(DeliveryRefused, match="no webhook removed"):
        await posted("https://example.org/hook", chat=stranger)
    with pytest.raises(DeliveryRefused, match="prophecies alone"):
        await posted("https://example.org/hook", event=None)
