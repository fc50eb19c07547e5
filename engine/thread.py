"""Threads of a corpus: conversations, channels, folders."""

from dataclasses import dataclass
from datetime import datetime

from engine.types import Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A summary of one thread, without its messages."""

    id: str
    title: str | None
    documents: int
    authors: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """One document of a thread as it is shown."""

    id: int
    external_id: str
    created_at: datetime
    author: str | None
    role: str | None
    text: str
    url: str | None
    reply_to: str | None
    attribution: str | None
    flags: Flag
