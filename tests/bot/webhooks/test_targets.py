"""Secrets are read from one variable, and what is sent is signed as Standard Webhooks says."""

import base64
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from bot.reply import Event
from bot.settings import Settings, load_settings
from bot.settings.sections import WebhookSettings
from bot.webhooks import WebhookTarget, signed_headers, targets_of
from engine.errors import SettingsError

KEYS = [bytes(range(start, start + 32)) for start in (0, 32)]
SECRETS = ["whsec_" + base64.b64encode(key).decode() for key in KEYS]
NEWS = WebhookSettings(name="news", url="https://example.org/hook")
OTHER = WebhookSettings(name="other", url="https://example.org/other")


def with_webhooks(secrets: str, *hooks: WebhookSettings) -> Settings:
    settings = load_settings(environ={})
    known = settings.secrets.model_copy(update={"webhook_secrets": SecretStr(secrets)})
    return settings.model_copy(update={"webhooks": hooks, "secrets": known})


def test_secrets_are_assigned_by_webhook_name() -> None:
    listed = f"news={SECRETS[0]}, other={SECRETS[1]}"
    found = targets_of(with_webhooks(listed, NEWS, OTHER))
    assert {name: one.keys for name, one in found.items()} == {
        "news": (KEYS[0],),
        "other": (KEYS[1],),
    }
    assert repr(KEYS[0]) not in repr(found)


def test_a_name_with_two_secrets_signs_with_both() -> None:
    listed = f"news={SECRETS[0]} news={SECRETS[1]}"
    assert targets_of(with_webhooks(listed, NEWS))["news"].keys == tuple(KEYS)


@pytest.mark.parametrize(
    ("secrets", "hooks", "said"),
    [
        ("", [NEWS], 'The webhook "news" has no secret.'),
        (f"other={SECRETS[0]}", [NEWS], 'The webhook "news" has no secret.'),
        (f"news={SECRETS[0]}", [NEWS, NEWS], "have the name"),
        ("news=hunter2", [NEWS], 'The secret of "news" in WEBHOOK_SECRETS'),
        ("news=whsec_aGk=", [NEWS], 'The secret of "news" in WEBHOOK_SECRETS'),
        ("news=whsec_!!!", [NEWS], 'The secret of "news" in WEBHOOK_SECRETS'),
        (SECRETS[0].rstrip("="), [NEWS], "A secret in WEBHOOK_SECRETS has no name"),
    ],
)
def test_invalid_secrets_are_reported_without_their_values(
    secrets: str, hooks: list[WebhookSettings], said: str
) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        targets_of(with_webhooks(secrets, *hooks))
    assert "hunter2" not in str(caught.value)
    assert SECRETS[0].rstrip("=") not in str(caught.value)


def test_the_signature_is_that_of_the_published_libraries() -> None:
    """The vector that their tests use."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    event = Event(id="msg_p5jXN8AQM9LWM0D4loKWxJek", body=b'{"test": 2432232314}')
    now = datetime.fromtimestamp(1614265330.9, UTC)
    assert signed_headers(WebhookTarget(settings=NEWS, keys=(key,)), event, now=now) == {
        "Content-Type": "application/json",
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_two_keys_make_two_signatures() -> None:
    event, now = Event(id="msg_1", body=b"{}"), datetime(2026, 1, 1, tzinfo=UTC)
    both, *each = [
        signed_headers(WebhookTarget(settings=NEWS, keys=keys), event, now=now)["webhook-signature"]
        for keys in (tuple(KEYS), (KEYS[0],), (KEYS[1],))
    ]
    assert both.split(" ") == each
