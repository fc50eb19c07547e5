"""A prophecy as an event for programs: the body of a webhook."""

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import orjson

from bot.face.reply import Event
from bot.replies.post import PostItem
from bot.replies.prophecy_json import prophecy_json

_TYPE = "prophecy.found"


def prophecy_event(item: PostItem, *, key: str, decided_at: datetime) -> Event:
    """Return the event of one story and the text that foretold it.

    The event is the same, id included, each time the delivery `key` of `decided_at` is sent.
    """
    answer = item.answer
    shown = replace(answer.prophecy, hits=answer.page, near=())
    prophecy = prophecy_json(shown, now=answer.asked_at, elapsed_ms=0)
    del prophecy["elapsed_ms"]  # nobody has waited for it
    moment = decided_at.astimezone(UTC).isoformat()
    body = {
        "type": _TYPE,
        "timestamp": moment,
        "data": {
            "story": {"title": item.title, "link": item.link, "source": item.source or None},
            "prophecy": prophecy,
        },
    }
    # Keys are unique in one database only, and a receiver may listen to several.
    named = sha256(f"{key} {moment}".encode()).hexdigest()[:32]
    return Event(id=f"msg_{named}", body=orjson.dumps(body))
