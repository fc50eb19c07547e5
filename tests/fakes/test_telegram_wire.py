"""The stand-in over plain HTTP: paths, bodies, polls, webhooks and trouble."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from aiohttp import web

from tests.fakes.stand_in import listen
from tests.fakes.telegram import Chat, TelegramServer, User
from tests.patience import PATIENCE

Answer = dict[str, Any]


class Client:
    """A bot without a library."""

    def __init__(self, telegram: TelegramServer, http: httpx.AsyncClient) -> None:
        self.base = f"{telegram.base_url}{telegram.token}"
        self.http = http

    async def __call__(self, method: str, **parameters: Any) -> Answer:
        answer: Answer = (await self.http.post(f"{self.base}/{method}", json=parameters)).json()
        return answer

    async def updates(self, offset: int = 0, timeout: float = 0) -> list[int]:
        """Ids of what a poll hands out."""
        answer = await self("getUpdates", offset=offset, timeout=timeout)
        return [one["update_id"] for one in answer["result"]]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
async def client(telegram: TelegramServer) -> AsyncIterator[Client]:
    async with httpx.AsyncClient() as http:
        yield Client(telegram, http)


@pytest.fixture
def alice(telegram: TelegramServer) -> User:
    return telegram.user("Alice")


@pytest.fixture
def chat(telegram: TelegramServer, alice: User) -> Chat:
    return telegram.private_chat(alice)


# Paths and bodies


async def test_an_unknown_parameter_is_carried_out_but_noted(
    telegram: TelegramServer, client: Client, chat: Chat
) -> None:
    assert (await client("sendMessage", chat_id=chat.id, text="x", colour="red"))["ok"]
    assert telegram.errors == ["sendMessage: unknown parameter colour"]


async def test_a_mistyped_parameter_is_refused_and_noted(
    telegram: TelegramServer, client: Client, chat: Chat
) -> None:
    answer = await client("sendMessage", chat_id=chat.id, text=1)
    assert answer["error_code"] == 400
    assert telegram.errors == ["sendMessage: text is not str: 1"]
    assert chat.messages == []


# Polls


async def test_updates_come_again_until_an_offset_acknowledges_them(
    telegram: TelegramServer, client: Client, alice: User, chat: Chat
) -> None:
    for text in "abc":
        await alice.says(chat, text)
    first, second, third = await client.updates()
    assert await client.updates() == [first, second, third]
    assert await client.updates(offset=second) == [second, third]
    assert telegram.pending == 2
    assert await client.updates(offset=-1) == [third]
    assert await client.updates(offset=third + 1) == []
    assert await client.updates(offset=first) == []
    assert [telegram.updates[one].deliveries for one in (first, second, third)] == [2, 3, 4]


async def test_a_newer_poll_ends_the_older(
    telegram: TelegramServer, client: Client, alice: User, chat: Chat
) -> None:
    older = asyncio.create_task(client("getUpdates", timeout=30))
    await telegram.until_called("getUpdates")
    newer = asyncio.create_task(client.updates(timeout=30))
    ended = await asyncio.wait_for(older, PATIENCE)
    assert ended["error_code"] == 409
    assert ended["description"].startswith("Conflict: terminated by other getUpdates request")
    asked = await alice.says(chat, "x")
    assert asked.update
    assert await asyncio.wait_for(newer, PATIENCE) == [asked.update.id]


async def test_only_allowed_update_kinds_are_queued(
    telegram: TelegramServer, client: Client, alice: User, chat: Chat
) -> None:
    await client("getUpdates", allowed_updates=["message"])
    asked = await alice.says(chat, "x")
    await alice.edits(asked, "y")
    # Not given means as before; an empty list means the default kinds.
    assert len(await client.updates()) == 1
    await client("getUpdates", allowed_updates=[])
    await alice.edits(asked, "z")
    assert len(await client.updates()) == 2
    assert not (await client("getUpdates", allowed_updates=["massage"]))["ok"]


# Webhooks


class Receiver:
    """A web server that a webhook may point to; answers with the statuses given, then 200."""

    def __init__(self, statuses: list[int]) -> None:
        self.statuses = statuses
        self.got: list[tuple[int, str | None]] = []
        self.url = ""

    async def receive(self, request: web.Request) -> web.Response:
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        self.got.append(((await request.json())["update_id"], secret))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@pytest.fixture
async def receive() -> AsyncIterator[Callable[[list[int]], Any]]:
    runners: list[web.AppRunner] = []

    async def start(statuses: list[int]) -> Receiver:
        receiver = Receiver(statuses)
        app = web.Application()
        app.router.add_post("/hook", receiver.receive)
        runner, port = await listen(app)
        runners.append(runner)
        receiver.url = f"http://127.0.0.1:{port}/hook"
        return receiver

    yield start
    for runner in runners:
        await runner.cleanup()


async def test_a_webhook_gets_each_update_with_the_secret_until_it_says_yes(
    telegram: TelegramServer,
    client: Client,
    alice: User,
    chat: Chat,
    receive: Callable[[list[int]], Any],
) -> None:
    receiver = await receive([500, 302])
    await client("setWebhook", url=receiver.url, secret_token="s3cret")
    first, second = await alice.says(chat, "a"), await alice.says(chat, "b")
    await telegram.until_acknowledged()
    assert first.update
    assert second.update
    ids = [first.update.id] * 3 + [second.update.id]
    assert receiver.got == [(one, "s3cret") for one in ids]
    info = (await client("getWebhookInfo"))["result"]
    assert (info["url"], info["pending_update_count"]) == (receiver.url, 0)
    assert info["last_error_message"] == "Wrong response from the webhook: 302 Found"


async def test_a_webhook_and_polls_exclude_each_other(
    telegram: TelegramServer,
    client: Client,
    alice: User,
    chat: Chat,
    receive: Callable[[list[int]], Any],
) -> None:
    receiver = await receive([])
    await client("setWebhook", url=receiver.url)
    answer = await client("getUpdates")
    assert (answer["error_code"], "webhook is active" in answer["description"]) == (409, True)
    await client("deleteWebhook")
    await alice.says(chat, "x")
    assert len(await client.updates()) == 1
    await client("deleteWebhook", drop_pending_updates=True)
    assert (await client.updates(), receiver.got) == ([], [])
