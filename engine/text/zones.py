"""Time zones by name, as people and platforms write them."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return the zone called `name` ("Europe/Madrid", "europe/madrid", "new york" is none)."""
    if not name:
        return None
    written = name.strip().replace(" ", "_")
    for spelling in (written, written.title(), written.upper()):
        try:
            return ZoneInfo(spelling)
        # A name may also be a folder, a path out of the database, or anything else.
        except (KeyError, ValueError, OSError):
            continue
    return None


def zone_or_utc(name: str) -> tzinfo:
    """Return a stored zone; UTC where this machine does not know it."""
    return zone_named(name) or UTC
