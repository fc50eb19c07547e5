"""Looking up time zones by name, as people and platforms write them."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return the zone called `name` in any case ("europe/madrid"), or None ("new york")."""
    if not name:
        return None
    written = name.strip().replace(" ", "_")
    for spelling in (written, written.title(), written.upper()):
        try:
            return ZoneInfo(spelling)
        # The name may be a folder, a path outside the database, or anything else.
        except (KeyError, ValueError, OSError):
            continue
    return None


def zone_or_utc(name: str) -> tzinfo:
    """Return the zone called `name`, or UTC if this machine does not know it."""
    return zone_named(name) or UTC
