"""Updates that are pushed."""

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot import listening as connections
from bot import listening as webhook
from bot.adapter import AdapterFailed
from tests.fakes.model import scoring, slow
from tests.network import find_free_port
from tests.patience import PATIENCE
from tests.scenarios.stage import HEADLINE, Stage, judged_by_words

SECRET = "a-secret_of-the_webhook"
HEADER = "X-Telegram-Bot-Api-Secret-Token"


@pytest.fixture
def pushed(stage: Stage) -> Stage:
    port = find_free_port()
    stage.environment |= {
        "PRESAGIO_TELEGRAM__WEBHOOK_URL": f"http://127.0.0.1:{port}/hook",
        "PRESAGIO_WEB__PORT": str(port),
        "TELEGRAM_WEBHOOK_SECRET": SECRET,
    }
    return stage


async def test_a_pushed_headline_is_answered_once(pushed: Stage) -> None:
    alice, chat = pushed.telegram.alone("Alice")
    async with pushed.serving():
        asked = await alice.says(chat, HEADLINE)
        await asked.answer()
        await pushed.telegram.until_acknowledged()
        assert asked.update
        pushed.telegram.redeliver(asked.update.id)
        await pushed.telegram.until_acknowledged()
    assert len(chat.bot_messages) == 1
    assert pushed.telegram.called("getUpdates") == []


async def test_a_wrong_secret_is_refused(pushed: Stage) -> None:
    url = pushed.environ["PRESAGIO_TELEGRAM__WEBHOOK_URL"]
    async with pushed.serving(), aiohttp.ClientSession() as session:
        for given in (None, "", "wrong", SECRET + "x", SECRET.upper(), "\u00e9"):
            headers = {} if given is None else {HEADER: given}
            async with session.post(url, json={"update_id": 1}, headers=headers) as answer:
                assert answer.status == 403, given
        async with session.post(url, data=b"{", headers={HEADER: SECRET}) as answer:
            assert answer.status == 400
        async with session.post(url, json={"update_id": 1}, headers={HEADER: SECRET}) as answer:
            assert answer.status == 200
    assert pushed.model.calls == 0


@pytest.mark.parametrize("secret", ["", "has spaces", "x" * 257])
async def test_a_webhook_without_a_good_secret_is_not_opened(pushed: Stage, secret: str) -> None:
    pushed.environment["TELEGRAM_WEBHOOK_SECRET"] = secret
    with pytest.raises(AdapterFailed):
        await pushed.run()
    assert any("A webhook needs a secret." in said for said in pushed.said)
    assert pushed.telegram.called("setWebhook") == []


async def test_the_page_and_the_webhook_share_the_port(pushed: Stage) -> None:
    pushed.environment["PRESAGIO_WEB__ENABLED"] = "true"
    alice, chat = pushed.telegram.alone("Alice")
    async with pushed.serving(), aiohttp.ClientSession() as session:
        await (await alice.says(chat, HEADLINE)).answer()
        port = pushed.environ["PRESAGIO_WEB__PORT"]
        async with session.get(f"http://127.0.0.1:{port}/healthz") as answer:
            adapters = (await answer.json())["faces"]
            assert adapters["telegram"] == {"listening": True, "way": "webhook"}
        async with session.get(f"http://127.0.0.1:{port}/") as answer:
            assert answer.status == 200


async def test_no_webhook_is_registered_if_the_port_is_taken(pushed: Stage) -> None:
    port = int(pushed.environ["PRESAGIO_WEB__PORT"])
    with socket.create_server(("127.0.0.1", port)), pytest.raises(AdapterFailed):
        await pushed.run()
    assert any(
        said.startswith(f"telegram: Presagio cannot listen on 127.0.0.1 port {port}")
        for said in pushed.said
    )
    assert pushed.telegram.called("setWebhook") == []


async def test_a_webhook_update_under_way_at_a_stop_is_answered_and_acknowledged(
    pushed: Stage,
) -> None:
    pushed.model.script = [slow(0.5, scoring(judged_by_words))]
    alice, chat = pushed.telegram.alone("Alice")
    async with pushed.serving():
        asked = await alice.says(chat, HEADLINE)
        await pushed.model.until_asked(1)
    await asked.answer()
    assert len(chat.bot_messages) == 1
    await pushed.telegram.until_acknowledged()


async def test_an_update_under_way_at_a_crash_is_pushed_again(pushed: Stage) -> None:
    alice, chat = pushed.telegram.alone("Alice")
    await pushed.telegram.stop()
    await pushed.telegram.start()
    asked = await alice.says(chat, HEADLINE)
    async with pushed.serving():
        assert "Coffee prices" in (await asked.answer()).text
        await pushed.telegram.until_acknowledged()
    assert len(chat.bot_messages) == 1


async def test_switching_from_webhook_to_polling_loses_no_update(pushed: Stage) -> None:
    alice, chat = pushed.telegram.alone("Alice")
    async with pushed.serving():
        await (await alice.says(chat, HEADLINE)).answer()
    asked = await alice.says(chat, f"{HEADLINE} in Oslo")
    for name in ("PRESAGIO_TELEGRAM__WEBHOOK_URL", "TELEGRAM_WEBHOOK_SECRET"):
        del pushed.environment[name]
    async with pushed.serving():
        assert "Coffee prices" in (await asked.answer()).text


NO_UPDATES = (
    b"",
    b"garbage",
    b"\xff\xfe",
    b"[]",
    b"5",
    b"null",
    b"{}",
    b"[" * 100_000,
    b"1" * 10_000,
    b'{"update_id": "one"}',
    b'{"update_id": true}',
    b'{"update_id": 1, "message": {"message_id": 1, "date": 1, "text": 5,'
    b' "chat": {"id": 1, "type": "private"}, "from": {"id": 1, "is_bot": false,'
    b' "first_name": "A"}}}',
)


async def test_a_request_that_is_no_update_is_rejected(
    pushed: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    url = pushed.environ["PRESAGIO_TELEGRAM__WEBHOOK_URL"]
    headers = {HEADER: SECRET, "Content-Type": "application/json; charset=klingon"}
    async with pushed.serving(), aiohttp.ClientSession() as session:
        for number, body in enumerate(NO_UPDATES, start=1):
            async with session.post(url, data=body, headers=headers) as answer:
                assert answer.status == 400, body[:60]
            async with session.post(url, json={"update_id": number}, headers=headers) as answer:
                assert answer.status == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_client_disconnecting_within_a_body_is_no_error(
    pushed: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    url = pushed.environ["PRESAGIO_TELEGRAM__WEBHOOK_URL"]
    port = int(pushed.environ["PRESAGIO_WEB__PORT"])
    head = f"POST /hook HTTP/1.1\r\nHost: x\r\n{HEADER}: {SECRET}\r\nContent-Length: 9\r\n\r\n{{"
    async with pushed.serving(), aiohttp.ClientSession() as session:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode())
        await writer.drain()
        async with session.post(url, json={"update_id": 1}, headers={HEADER: SECRET}) as answer:
            assert answer.status == 200
        writer.transport.abort()
        async with session.post(url, json={"update_id": 2}, headers={HEADER: SECRET}) as answer:
            assert answer.status == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_an_incomplete_body_times_out(pushed: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "BODY_SECONDS", 0.2)
    url = pushed.environ["PRESAGIO_TELEGRAM__WEBHOOK_URL"]

    async def halting() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with (
        pushed.serving(),
        aiohttp.ClientSession() as session,
        session.post(url, data=halting(), headers={HEADER: SECRET}) as answer,
    ):
        assert answer.status == 408


async def test_incomplete_headers_time_out(pushed: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    port = int(pushed.environ["PRESAGIO_WEB__PORT"])
    async with pushed.serving():
        for said in (b"", b"POST /hook HTT"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            async with asyncio.timeout(PATIENCE):
                assert await reader.read() == b""
            writer.close()
