"""How far back a question goes."""

from datetime import datetime, timedelta
from enum import StrEnum


class Period(StrEnum):
    """A stretch of time that ends now."""

    WEEK = "week"
    MONTH = "month"
    ALL = "all"

    def begins(self, now: datetime) -> datetime | None:
        """Return the moment from which on texts count; None: from the beginning."""
        days = {Period.WEEK: 7, Period.MONTH: 30}.get(self)
        return None if days is None else now - timedelta(days=days)
