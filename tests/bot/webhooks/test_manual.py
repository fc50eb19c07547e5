"""docs/webhooks.md: its example is a webhook, and its receiver verifies what is sent."""

import base64
import subprocess
import time
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot import webhooks as poster
from bot.reply import Event
from bot.settings import load_settings
from bot.settings.sections import WebhookSettings
from bot.webhooks import WebhookTarget, signed_headers, targets_of

MANUAL = (Path(__file__).parents[3] / "docs" / "webhooks.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    return MANUAL.partition(f"```{language}\n")[2].partition("```")[0]


def test_manual_example_is_a_valid_webhook() -> None:
    (table,) = tomllib.loads(block("toml"))["webhooks"]
    hook = WebhookSettings.model_validate(table)
    assert f"presagio webhooks test {hook.name}" in MANUAL


@pytest.mark.needs("head", "base64")
def test_its_steps_lead_to_a_webhook_with_a_secret(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(block("toml"), encoding="utf-8")
    subprocess.run(block("sh"), shell=True, cwd=tmp_path, check=True)
    (tmp_path / "presagio.env").chmod(0o600)
    targets = targets_of(load_settings(tmp_path / "config.toml", environ={}))
    assert [len(key) for key in targets["news"].keys] == [32]


def test_manual_receiver_accepts_only_genuine_events() -> None:
    names: dict[str, Any] = {}
    exec(block("python"), names)
    genuine = names["genuine"]
    keys = tuple(bytes([number]) * 32 for number in range(2))
    hook = WebhookSettings(name="news", url="https://example.org")
    event, now = Event(id="msg_1", body=b'{"a": 1}'), datetime.fromtimestamp(time.time(), UTC)
    headers = signed_headers(WebhookTarget(settings=hook, keys=keys), event, now=now)
    for key in keys:
        assert genuine("whsec_" + base64.b64encode(key).decode(), headers, event.body)
    stranger = "whsec_" + base64.b64encode(b"x" * 32).decode()
    assert not genuine(stranger, headers, event.body)
    secret = "whsec_" + base64.b64encode(keys[0]).decode()
    assert not genuine(secret, headers, event.body + b" ")
    old = signed_headers(
        WebhookTarget(settings=hook, keys=keys), event, now=now - timedelta(minutes=10)
    )
    assert not genuine(secret, old, event.body)


def test_manual_states_the_timeout_of_the_program() -> None:
    assert f"within {poster._SECONDS:g} seconds" in MANUAL
