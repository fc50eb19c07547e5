"""The configured webhooks with their keys, and the signature of what is sent to them.

The headers are those of Standard Webhooks 1.0 (docs/decisions/0044-webhooks.md).
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from pydantic import SecretStr

from bot.face.reply import Event
from bot.settings import Settings
from bot.settings.model import revealed
from bot.settings.news import WebhookSettings
from engine.errors import SettingsError
from engine.messages import Message

_PREFIX = "whsec_"
_SHORTEST = 24  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTarget:
    """Where one webhook is sent, and the keys that sign it: several while a key is replaced."""

    settings: WebhookSettings
    keys: tuple[bytes, ...] = field(repr=False)


def targets_of(settings: Settings) -> dict[str, WebhookTarget]:
    """Return the webhooks of the settings by name.

    Raises SettingsError if two have the same name, or one has no usable secret.
    """
    keys = _keys(settings.secrets.webhook_secrets)
    found: dict[str, WebhookTarget] = {}
    for hook in settings.webhooks:
        if hook.name in found:
            raise SettingsError(
                Message('Two [[webhooks]] have the name "{name}".', name=hook.name),
                fix=Message("Give each its own."),
            )
        if hook.name not in keys:
            raise SettingsError(
                Message('The webhook "{name}" has no secret.', name=hook.name),
                fix=Message(
                    'Set WEBHOOK_SECRETS to "{name}=whsec_..." (docs/webhooks.md).', name=hook.name
                ),
            )
        found[hook.name] = WebhookTarget(settings=hook, keys=tuple(keys[hook.name]))
    return found


def _keys(secrets: SecretStr | None) -> Mapping[str, list[bytes]]:
    """Read "name=whsec_..., name=whsec_...". A name that occurs twice has two keys."""
    keys: dict[str, list[bytes]] = {}
    for entry in (revealed(secrets) or "").replace(",", " ").split():
        name, _, secret = entry.partition("=")
        keys.setdefault(name, []).append(_key(name, secret))
    return keys


def _key(name: str, secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(_PREFIX) or len(key) < _SHORTEST:
        # Nothing of the entry but its name is shown, and that only if it is not the secret.
        raise SettingsError(
            Message('The secret of "{name}" in WEBHOOK_SECRETS cannot be used.', name=name)
            if secret
            else Message("A secret in WEBHOOK_SECRETS has no name."),
            fix=Message(
                "Write it as NAME=whsec_..., with the Base64 of {bytes} random bytes or more.",
                bytes=_SHORTEST,
            ),
        )
    return key


def signed_headers(target: WebhookTarget, event: Event, *, now: datetime) -> dict[str, str]:
    """Return the headers of an event that is sent `now`: its id, the time and the signatures."""
    sent_at = str(int(now.timestamp()))
    signed = f"{event.id}.{sent_at}.".encode() + event.body
    signatures = [
        "v1," + base64.b64encode(hmac.digest(key, signed, sha256)).decode() for key in target.keys
    ]
    return {
        "Content-Type": "application/json",
        "webhook-id": event.id,
        "webhook-timestamp": sent_at,
        "webhook-signature": " ".join(signatures),
    }
