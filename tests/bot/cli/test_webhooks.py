"""`presagio webhooks`, and what the doctor says of them."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.chat import WEBHOOKS
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.database import execute, wait_for
from tests.fakes.web import WebServer, reply

SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, **wanted: str) -> None:
    """Let the settings name the webhook `news`."""
    lines = [f"{key} = {value}" for key, value in wanted.items()]
    written = ["[[webhooks]]", 'name = "news"', f'url = "{url}"', *lines]
    (folder / "config.toml").write_text("\n".join(written), encoding="utf-8")
    monkeypatch.setenv("PRESAGIO_CONFIG", str(folder / "config.toml"))
    monkeypatch.setenv("WEBHOOK_SECRETS", f"news={SECRET}")


def turned_off(url: str, *, title: str = "example.org") -> None:
    """Store the webhook as one whose receiver has answered 410."""
    wait_for(
        execute(
            url,
            "INSERT INTO chat (platform, external_id, private, title, active)"
            f" VALUES ('{WEBHOOKS}', 'news', true, '{title}', false)",
        )
    )


def test_missing_webhooks_are_reported(invoke: Invoke, database: str) -> None:
    done = invoke("webhooks")
    assert (done.code, done.err) == (0, "")
    assert "name no webhook" in done.out


def test_disabled_webhook_is_reported_and_can_be_resumed(
    invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configure(monkeypatch, tmp_path, "https://example.org/hook?token=s3cret")
    assert "waits for presagio serve" in invoke("webhooks").out
    turned_off(database)
    shown = invoke("webhooks").out
    assert "news (example.org): 0 sent, 0 owed, 0 given up" in shown
    assert "presagio webhooks resume news" in shown
    (row,) = [check for check in checks(invoke) if check["check"] == "webhook news"]
    assert row["ok"] is False
    assert "resume news" in str(row["fix"])
    assert invoke("webhooks", "resume", "news").code == 0
    (state,) = invoke("webhooks", "list", "--json").json_lines
    assert (state["name"], state["active"]) == ("news", True)
    assert "s3cret" not in shown + str(state)


def checks(invoke: Invoke) -> list[dict[str, object]]:
    return list(invoke("doctor", "--json").json_lines)


@pytest.mark.parametrize(
    ("kind", "corpus", "said"),
    [
        (None, "nowhere", "There is no corpus nowhere"),
        ("personal", "demo", 'add "webhook:news" to private in [chat]'),
    ],
)
def test_the_doctor_tells_that_a_corpus_cannot_be_read(
    invoke: Invoke,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str | None,
    corpus: str,
    said: str,
) -> None:
    configure(monkeypatch, tmp_path, "https://example.org/hook", corpus=f'"{corpus}"')
    if kind:
        wait_for(
            execute(
                database,
                f"INSERT INTO corpus (name, kind, language) VALUES ('{corpus}', '{kind}', 'en')",
            )
        )
    (row,) = [check for check in checks(invoke) if check["check"] == "webhook news"]
    assert row["ok"] is False
    assert said in str(row["fix"])


def test_a_webhook_without_a_secret_is_told(
    invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configure(monkeypatch, tmp_path, "https://example.org/hook")
    monkeypatch.delenv("WEBHOOK_SECRETS")
    (row,) = [check for check in checks(invoke) if check["check"] == "webhooks"]
    assert row["ok"] is False
    done = invoke("run-once")
    assert done.code == 2
    assert 'The webhook "news" has no secret.' in done.err


def test_unknown_webhook_is_refused_with_the_known_names(
    invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configure(monkeypatch, tmp_path, "https://example.org/hook")
    done = invoke("webhooks", "test", "nesw")
    assert done.code == 1
    assert "There are: news." in done.err


@pytest.fixture
async def receiver() -> AsyncIterator[WebServer]:
    async with WebServer() as web:
        yield web


@pytest.mark.parametrize(
    ("status", "code", "said"), [(200, 0, "has accepted the event"), (404, 1, "(404)")]
)
async def test_a_test_event_is_sent_once(
    receiver: WebServer,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    status: int,
    code: int,
    said: str,
) -> None:
    receiver.pages["/hook"] = reply(status)
    url = receiver.url("/hook")
    configure(monkeypatch, tmp_path, url, allow_networks='["127.0.0.0/8"]')
    done = await asyncio.to_thread(forked, "webhooks", "test", "news")
    assert done.code == code
    assert said in done.out + done.err
    (request,) = receiver.requests
    assert request.headers["webhook-signature"].startswith("v1,")
    assert b'"type":"test"' in request.body
