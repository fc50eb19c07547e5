"""Webhooks: their targets, what each subscribes to, and the poster that sends signed events.

An event may arrive twice: a receiver that answers late has it already. Its id is then the same.
"""

import base64
import binascii
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256

from pydantic import SecretStr

from bot.adapter import ChatGone, DeliveryError, DeliveryRefused, SlowDown, Unsure
from bot.reply import Event, Reply
from bot.settings import Settings
from bot.settings.model import reveal_secret
from bot.settings.sections import WebhookSettings
from db.chat.chats import Chats
from db.pool import Database
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.chat import WEBHOOKS, Chat
from engine.errors import FetchError, FetchRefused, SettingsError
from engine.fetch import PostResponse, requested_pause, shown_host
from engine.fetch.client import Fetcher
from engine.messages import Message
from engine.posting.delivery import DeliveryState, PostingMode, Subscription
from engine.settings.fetching import FetchSettings

_PREFIX = "whsec_"
_SHORTEST = 24  # bytes

_LOOKED_AT = 100  # deliveries

_SECONDS = 20.0  # for one attempt
_LONGEST_PAUSE = 3600.0  # a receiver may ask for, in seconds
_GONE = 410
_LIMITED = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTarget:
    """Where one webhook is sent, and the keys that sign it: several while a key is replaced."""

    settings: WebhookSettings
    keys: tuple[bytes, ...] = field(repr=False)


def targets_of(settings: Settings) -> dict[str, WebhookTarget]:
    """Return the webhooks of the settings by name.

    Raises SettingsError if two have the same name, or one has no usable secret.
    """
    keys = _parse_secrets(settings.secrets.webhook_secrets)
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


def _parse_secrets(secrets: SecretStr | None) -> Mapping[str, list[bytes]]:
    """Read "name=whsec_..., name=whsec_...". A name that occurs twice has two keys."""
    keys: dict[str, list[bytes]] = {}
    for entry in (reveal_secret(secrets) or "").replace(",", " ").split():
        name, _, secret = entry.partition("=")
        keys.setdefault(name, []).append(_decode_secret(name, secret))
    return keys


def _decode_secret(name: str, secret: str) -> bytes:
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


async def subscribe_webhooks(
    database: Database, hooks: Sequence[WebhookSettings], *, now: datetime
) -> None:
    """Subscribe the webhooks of the settings, and unsubscribe all others. Raises StorageError.

    A new one is told of what is found from `now` on.
    """
    chats, subscriptions = Chats(database), Subscriptions(database)
    for hook in hooks:
        chat = await _meet_chat(chats, hook)
        wanted = Subscription(
            chat=chat, mode=PostingMode.INSTANT, threshold=hook.threshold, unjudged=hook.unjudged
        )
        known = await subscriptions.get(chat)
        if known is None or replace(known, chat=chat, since=None, timed_from=None) != wanted:
            await subscriptions.set(wanted, now=now)
    names = {hook.name for hook in hooks}
    for chat in await chats.on_platform(WEBHOOKS):
        if chat.external_id not in names:
            await _unsubscribe(subscriptions, chat, now)


async def _meet_chat(chats: Chats, hook: WebhookSettings) -> Chat:
    title = address_title(hook.url)
    chat = await chats.find_chat(WEBHOOKS, hook.name)
    if chat is None or chat.title != title:
        chat = await chats.meet(WEBHOOKS, hook.name, private=True, title=title)
    if chat.corpus != (hook.corpus or None):
        chat = replace(chat, corpus=hook.corpus or None)
        await chats.change(chat)
    return chat


async def _unsubscribe(subscriptions: Subscriptions, chat: Chat, now: datetime) -> None:
    known = await subscriptions.get(chat)
    if known and known.mode is not PostingMode.OFF:
        await subscriptions.set(replace(known, mode=PostingMode.OFF), now=now)


def address_title(url: str) -> str:
    """Return the host of an address and a mark of the rest, which may hold a secret."""
    return f"{shown_host(url)} ({sha256(url.encode()).hexdigest()[:8]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookState:
    """How one webhook fares."""

    name: str
    host: str
    known: bool  # it was subscribed by serve or run-once
    active: bool  # False: its receiver answered 410
    sent: int  # of the last deliveries
    owed: int
    failed: int
    oldest_owed_at: datetime | None
    last_sent_at: datetime | None
    last_error: Message | None  # of what is owed or was given up last


async def webhook_states(
    database: Database, hooks: Sequence[WebhookSettings]
) -> list[WebhookState]:
    """Return how the webhooks of the settings fare. Raises StorageError."""
    return [await _read_state(database, hook) for hook in hooks]


async def _read_state(database: Database, hook: WebhookSettings) -> WebhookState:
    chat = await Chats(database).find_chat(WEBHOOKS, hook.name)
    past = await Outbox(database).history(chat, _LOOKED_AT) if chat else []
    states = [delivery.state for delivery in past]
    owed = [delivery.created_at for delivery in past if delivery.state is DeliveryState.OWED]
    arrived = [delivery.settled_at for delivery in past if delivery.state is DeliveryState.SENT]
    return WebhookState(
        name=hook.name,
        host=shown_host(hook.url),
        known=chat is not None,
        active=chat is None or chat.active,
        sent=states.count(DeliveryState.SENT),
        owed=len(owed),
        failed=states.count(DeliveryState.FAILED),
        oldest_owed_at=min(owed, default=None),
        last_sent_at=arrived[0] if arrived else None,
        last_error=next((delivery.error for delivery in past if delivery.error), None),
    )


class WebhookOff(ChatGone):
    """The receiver answered that it is gone. Operators are told."""

    plain = Message("A webhook has been turned off.")


class WebhookPoster:
    """Sends to the webhooks of the settings, each through its own guarded connections."""

    platform = WEBHOOKS

    def __init__(
        self, targets: Mapping[str, WebhookTarget], *, contact: str, now: Callable[[], datetime]
    ) -> None:
        self._targets = targets
        self._now = now
        self._fetchers = {
            name: Fetcher(
                FetchSettings(
                    allow_networks=target.settings.allow_networks, user_agent_contact=contact
                )
            )
            for name, target in targets.items()
        }

    async def post(
        self,
        chat: Chat,
        thread: str | None,  # noqa: ARG002 - a webhook has none
        reply: Reply,
        *,
        key: str,  # noqa: ARG002 - the event has an id of its own
    ) -> str:
        """Send the event and return its id. Raises as documented in Poster."""
        target = self._targets.get(chat.external_id)
        if target is None:
            raise DeliveryRefused(
                Message("The settings name no webhook {name}.", name=chat.external_id)
            )
        if reply.event is None:
            raise DeliveryRefused(Message("Webhooks are told of prophecies alone."))
        url, now = target.settings.url, self._now()
        try:
            answered = await self._fetchers[chat.external_id].post(
                url,
                body=reply.event.body,
                headers=signed_headers(target, reply.event, now=now),
                seconds=_SECONDS,
            )
        except FetchRefused as error:
            raise DeliveryError(error.message) from error
        except FetchError as error:
            raise Unsure(error.message) from error
        if answered.status == _GONE:
            raise WebhookOff(
                Message("{host} wants no more events (410).", host=shown_host(url)),
                fix=Message("Run: presagio webhooks resume {name}", name=chat.external_id),
            )
        _require_accepted(answered, shown_host(url), now)
        return reply.event.id

    async def find_posted(self, *_: object) -> str | None:
        """Return None: a receiver cannot be asked, and knows an event again by its id."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        for fetcher in self._fetchers.values():
            await fetcher.aclose()


def _require_accepted(answered: PostResponse, host: str, now: datetime) -> None:
    """Raise unless the receiver answered 2xx. A redirect is a failure as well."""
    status = answered.status
    if status // 100 == 2:
        return
    pause = min(requested_pause(answered.retry_after, now) or 0.0, _LONGEST_PAUSE)
    if status in _LIMITED and pause:
        raise SlowDown(pause)
    if status // 100 == 3:
        raise DeliveryError(
            Message("{host} redirects ({status}), which is not followed.", host=host, status=status)
        )
    raise DeliveryError(
        Message("{host} did not accept the event ({status}).", host=host, status=status)
    )
