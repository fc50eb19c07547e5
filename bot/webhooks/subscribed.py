"""Keeps the subscriptions of webhooks as the settings say, and tells how webhooks fare.

A webhook is a chat that is told at once. Its title stands for its address: another address turns
a webhook on again that a receiver has turned off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256

from bot.settings.news import WebhookSettings
from db.chat.chats import Chats
from db.pool import Database
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.chat import WEBHOOKS, Chat
from engine.fetch.faults import shown_host
from engine.messages import Message
from engine.posting.types import DeliveryState, PostingMode, Subscription

_LOOKED_AT = 100  # deliveries


async def subscribe_webhooks(
    database: Database, hooks: Sequence[WebhookSettings], *, now: datetime
) -> None:
    """Subscribe the webhooks of the settings, and unsubscribe all others. Raises StorageError.

    A new one is told of what is found from `now` on.
    """
    chats, subscriptions = Chats(database), Subscriptions(database)
    for hook in hooks:
        chat = await _chat(chats, hook)
        wanted = Subscription(
            chat=chat,
            mode=PostingMode.INSTANT,
            threshold=hook.threshold,
            unjudged=hook.unjudged,
        )
        known = await subscriptions.get(chat)
        if known is None or replace(known, chat=chat, since=None) != wanted:
            await subscriptions.set(wanted, now=now)
    names = {hook.name for hook in hooks}
    for chat in await chats.on_platform(WEBHOOKS):
        if chat.external_id not in names:
            await _unsubscribe(subscriptions, chat, now)


async def _chat(chats: Chats, hook: WebhookSettings) -> Chat:
    title = address_title(hook.url)
    chat = await chats.known(WEBHOOKS, hook.name)
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
    return [await _state(database, hook) for hook in hooks]


async def _state(database: Database, hook: WebhookSettings) -> WebhookState:
    chat = await Chats(database).known(WEBHOOKS, hook.name)
    past = await Outbox(database).history(chat, _LOOKED_AT) if chat else []
    states = [one.state for one in past]
    owed = [one.created_at for one in past if one.state is DeliveryState.OWED]
    arrived = [one.settled_at for one in past if one.state is DeliveryState.SENT]
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
        last_error=next((one.error for one in past if one.error), None),
    )
