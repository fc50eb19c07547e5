"""The state of a feed as a row, for programs and for people."""

from datetime import datetime

from engine.feeds.types import Feed, FeedHealth

_LONGEST = 60  # characters of a name


def feed_row(health: FeedHealth, url: str) -> dict[str, object]:
    """Return the state of a feed as a JSON object."""
    feed = health.feed
    return {
        "id": feed.id,
        "url": url,
        "title": feed.title,
        "category": feed.category,
        "everybody": feed.configured,
        "chats": health.chats,
        "state": _state(feed),
        "last_success": feed.succeeded_at,
        "next_poll": None if feed.gone else feed.next_poll_at,
        "failures": feed.failures,
        "failing_since": feed.failing_since,
        "headlines_a_day": round(health.headlines_a_day, 2),
        "error": feed.error,
    }


def _state(feed: Feed) -> str:
    if feed.gone:
        return "gone"
    if feed.failing_since is not None:
        return "failing"
    return "ok" if feed.primed else "new"


def feed_cells(row: dict[str, object]) -> dict[str, object]:
    """Return a row formatted for people, with times in UTC."""
    name = str(row["title"] or row["url"])
    return {
        "feed": name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…",
        "category": row["category"],
        "for": "everybody" if row["everybody"] else f"{row['chats']} chats",
        "state": row["state"],
        "last success": _moment(row["last_success"]),
        "next poll": _moment(row["next_poll"]),
        "failures": row["failures"],
        "a day": str(row["headlines_a_day"]),
        "error": row["error"],
    }


def _moment(value: object) -> str:
    return f"{value:%Y-%m-%d %H:%M}Z" if isinstance(value, datetime) else "-"
