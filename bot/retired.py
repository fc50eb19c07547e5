"""Commands, options and settings of older versions that are gone, each with what replaces it."""

from collections.abc import Mapping

_NO_WALL = "The page has no votes: it shows what was posted from feeds."

# By the name on the command line. The sentence says what to do instead.
RETIRED_COMMANDS: Mapping[str, str] = {
    "eval": "In a checkout, python -m bench.evaluate takes the same options and files.",
    "man": "presagio --help lists the commands, and presagio COMMAND --help tells about one.",
    "site": "presagio serve --web shows the pages, and presagio corpora export writes the texts.",
    "wall": _NO_WALL,
}
_REPLAY = "In a checkout, python -m bench.replay takes the same options and files."
RETIRED_OPTIONS: Mapping[str, str] = {"compose --record": _REPLAY, "compose --replay": _REPLAY}
# By section, or by section and key: "web", "web.votes".
RETIRED_SETTINGS: Mapping[str, str] = {
    "web.votes": _NO_WALL,
    "web.wall": _NO_WALL,
    "web.wall_voters": _NO_WALL,
}


def explain_retired_command(name: str) -> str | None:
    """Return what became of a command, or None if there never was such a command."""
    return (
        f"presagio {name} is gone. {RETIRED_COMMANDS[name]}" if name in RETIRED_COMMANDS else None
    )


def explain_retired_option(command: str, option: str) -> str | None:
    """Return what became of an option of a command, or None if there never was such an option."""
    explanation = RETIRED_OPTIONS.get(f"{command} {option}")
    return f"{option} of presagio {command} is gone. {explanation}" if explanation else None


def explain_retired_setting(section: str, key: str = "") -> str | None:
    """Return what to do without a setting or a section that is gone, or None if it never was."""
    return RETIRED_SETTINGS.get(f"{section}.{key}") or RETIRED_SETTINGS.get(section)
