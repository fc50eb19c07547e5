"""An event holds the text that was posted and no other, and keeps its id and bytes."""

from datetime import UTC, datetime, timedelta

import orjson

from bot.replies.post import PostItem, prophecy_event
from engine.chat import Answer
from tests.bot.prophecies import NOW, make_hit, make_prophecy

AT = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
HITS = [make_hit(rank=rank, text=f"Text {rank}") for rank in (1, 2, 3)]
ITEM = PostItem(
    title="Coffee prices soar",
    link=None,
    answer=Answer(prophecy=make_prophecy(*HITS), asked_at=NOW, first=1, last=2),
)


def test_event_holds_only_the_posted_hit() -> None:
    event = prophecy_event(ITEM, key="story:1:2", decided_at=AT)
    body = orjson.loads(event.body)
    assert (body["type"], body["timestamp"]) == ("prophecy.found", "2026-03-14T09:30:00+00:00")
    assert body["data"]["story"] == {"title": "Coffee prices soar", "link": None, "source": None}
    prophecy = body["data"]["prophecy"]
    assert [(hit["rank"], hit["text"]) for hit in prophecy["hits"]] == [(2, "Text 2")]
    assert prophecy["near"] == []
    assert "elapsed_ms" not in prophecy


def test_event_id_depends_on_key_and_decision_time() -> None:
    first = prophecy_event(ITEM, key="story:1:2", decided_at=AT)
    assert prophecy_event(ITEM, key="story:1:2", decided_at=AT) == first
    others = [
        prophecy_event(ITEM, key="story:1:3", decided_at=AT),
        prophecy_event(ITEM, key="story:1:2", decided_at=AT + timedelta(microseconds=1)),
    ]
    assert len({first.id, *(other.id for other in others)}) == 3
    assert "." not in first.id
