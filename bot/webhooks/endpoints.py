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

_PREFIX = "whsec_"
_SHORTEST = 24  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where one webhook is sent, and the keys that sign it: several while a key is replaced."""

    settings: WebhookSettings
    keys: tuple[bytes, ...] = field(repr=False)


def endpoints_of(settings: Settings) -> dict[str, Endpoint]:
    """Return the webhooks of the settings by name.

    Raises SettingsError if two have the same name, or one has no usable secret.
    """
    keys = _keys(settings.secrets.webhook_secrets)
    found: dict[str, Endpoint] = {}
    for hook in settings.webhooks:
        if hook.name in found:
            raise SettingsError(
                f'Two [[webhooks]] have the name "{hook.name}".', fix="Give each its own."
            )
        if hook.name not in keys:
            raise SettingsError(
                f'The webhook "{hook.name}" has no secret.',
                fix=f'Set WEBHOOK_SECRETS to "{hook.name}={_PREFIX}..." (docs/webhooks.md).',
            )
        found[hook.name] = Endpoint(settings=hook, keys=tuple(keys[hook.name]))
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
        # The entry is not shown: it may be a secret without a name.
        shown = f' of "{name}"' if secret else ""
        raise SettingsError(
            f"A secret{shown} in WEBHOOK_SECRETS cannot be used.",
            fix=f'Write it as name={_PREFIX}..., where "..." is the Base64 of at least'
            f" {_SHORTEST} random bytes.",
        )
    return key


def signed_headers(endpoint: Endpoint, event: Event, *, now: datetime) -> dict[str, str]:
    """Return the headers of an event that is sent `now`: its id, the time and the signatures."""
    sent_at = str(int(now.timestamp()))
    signed = f"{event.id}.{sent_at}.".encode() + event.body
    signatures = [
        "v1," + base64.b64encode(hmac.digest(key, signed, sha256)).decode() for key in endpoint.keys
    ]
    return {
        "Content-Type": "application/json",
        "webhook-id": event.id,
        "webhook-timestamp": sent_at,
        "webhook-signature": " ".join(signatures),
    }
