"""Commands and settings of older versions that are gone, each with what replaces it."""

from collections.abc import Mapping

_ONE_URL = (
    "Name all servers in database.url, with target_session_attrs=read-write: the one that takes"
    " writes is used."
)
# By the name on the command line. The sentence says what to do instead.
RETIRED_COMMANDS: Mapping[str, str] = {
    "man": "presagio --help lists the commands, and presagio COMMAND --help tells about one.",
}
# By section, or by section and key: "web", "web.votes".
RETIRED_SETTINGS: Mapping[str, str] = {
    "database.replicas": _ONE_URL,
    "database.max_lag": _ONE_URL,
}


def explain_retired_command(name: str) -> str | None:
    """Return what became of a command, or None if there never was such a command."""
    return (
        f"presagio {name} is gone. {RETIRED_COMMANDS[name]}" if name in RETIRED_COMMANDS else None
    )


def explain_retired_setting(section: str, key: str = "") -> str | None:
    """Return what to do without a setting or a section that is gone, or None if it never was."""
    return RETIRED_SETTINGS.get(f"{section}.{key}") or RETIRED_SETTINGS.get(section)
