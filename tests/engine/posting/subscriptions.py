"""Subscriptions to test with."""

from dataclasses import replace
from datetime import time

from engine.chat import Chat
from engine.posting.delivery import Subscription

CHAT = Chat(id=7, platform="test", external_id="g", private=False)


def subscribed(
    at: str = "09:00", zone: str = "UTC", quiet: str | None = None, **changes: object
) -> Subscription:
    """A daily subscription at a local time; `quiet` is written as in the settings."""
    start, end = (time.fromisoformat(part) for part in quiet.split("-")) if quiet else (None, None)
    chat = replace(CHAT, time_zone=zone, quiet_from=start, quiet_to=end)
    values = {"chat": chat, "at": time.fromisoformat(at)} | changes
    return Subscription(**values)  # type: ignore[arg-type]  # fields of Subscription
