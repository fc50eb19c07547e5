"""Chats and what they want, as rows of the view `subscriber` tell them."""

from dataclasses import fields
from typing import Any

import asyncpg

from engine.chat import Chat, Listening
from engine.posting.types import Mode, Subscription

_CHAT = tuple(field.name for field in fields(Chat))
_WANTED = tuple(field.name for field in fields(Subscription) if field.name != "chat")


def chat_of(row: asyncpg.Record) -> Chat:
    """Return the chat of a row."""
    columns = {name: row[f"chat_{name}"] for name in _CHAT}
    return Chat(**{**columns, "listening": Listening(columns["listening"])})


def subscription_of(row: asyncpg.Record) -> Subscription:
    """Return what the chat of a row wants; a chat that never said wants nothing."""
    chat = chat_of(row)
    if row["mode"] is None:
        return Subscription(chat=chat, mode=Mode.OFF)
    wanted = {name: _frozen(row[name]) for name in _WANTED}
    return Subscription(chat=chat, **{**wanted, "mode": Mode(wanted["mode"])})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
