"""Looking up time zones by name, as people and platforms write them."""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

_CONTINENTS = (
    *("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia"),
    *("Europe", "Indian", "Pacific"),
)


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return the zone called `name` in any case ("europe/madrid", "new york"), or None."""
    if not name:
        return None
    written = name.strip().replace(" ", "_")
    city = _by_city().get(written.lower())
    for spelling in (written, written.title(), written.upper(), *filter(None, [city])):
        try:
            return ZoneInfo(spelling)
        # The name may be a folder, a path outside the database, or anything else.
        except (KeyError, ValueError, OSError):
            continue
    return None


@cache
def _by_city() -> Mapping[str, str]:
    """Return the zones by the name of their city, in lower case."""
    zones = (zone for zone in available_timezones() if zone.startswith(_CONTINENTS))
    # Of several, which are the same under older names, the first in the alphabet.
    return {zone.rpartition("/")[2].lower(): zone for zone in sorted(zones, reverse=True)}


def zone_or_utc(name: str) -> tzinfo:
    """Return the zone called `name`, or UTC if this machine does not know it."""
    return zone_named(name) or UTC
