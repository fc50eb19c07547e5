"""How long a feed is left alone."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from engine.feeds.types import PollSettings

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,10}", re.ASCII)
_MOST_DOUBLINGS = 32


def wait_after_success(
    headers: Mapping[str, str], ttl: float | None, *, now: datetime, settings: PollSettings
) -> float:
    """Return the seconds until the next poll: the longest wait that anybody asks for, or the
    longest there is.

    `headers` are those of the answer, `ttl` is the feed's own wish in seconds.
    """
    said = {name.lower(): value for name, value in headers.items()}
    asked = (
        settings.interval,
        ttl or 0.0,
        _fresh_for(said, now),
        retry_after(said.get("retry-after"), now),
    )
    return min(max(asked), settings.longest)


def wait_after_failure(
    failures: int, asked: str | None, *, now: datetime, settings: PollSettings
) -> float:
    """Return the seconds until the next poll: doubled with each of the `failures` in a row.

    `asked` is the Retry-After header.
    """
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    wait = max(settings.interval * 2.0**doublings, retry_after(asked, now))
    return min(wait, settings.longest)


def retry_after(header: str | None, now: datetime) -> float:
    """Return the seconds that a Retry-After header asks for: a number or a date; 0 for none."""
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    return _seconds_until(text, now)


def spread(wait: float, *, settings: PollSettings, jitter: float) -> float:
    """Return `wait` and a random part of it, so that feeds do not march in step.

    `jitter` is a random number in 0..1.
    """
    return wait * (1.0 + settings.spread * jitter)


def _fresh_for(said: Mapping[str, str], now: datetime) -> float:
    """Return for how many seconds caches may keep the answer. max-age goes before Expires."""
    if found := _MAX_AGE.search(said.get("cache-control", "")):
        age = said.get("age", "").strip()
        return float(found[1]) - (float(age) if _SECONDS.fullmatch(age) else 0.0)
    # The server's clock may be wrong; both dates are of the same one.
    return _seconds_until(said.get("expires", ""), _http_date(said.get("date", "")) or now)


def _seconds_until(written: str, now: datetime) -> float:
    date = _http_date(written)
    return max((date - now).total_seconds(), 0.0) if date else 0.0


def _http_date(written: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(written)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
