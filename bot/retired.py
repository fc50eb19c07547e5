"""Commands, options and settings of older versions that are gone, each with what replaces it."""

from collections.abc import Mapping

_REPLAY = "In a checkout, python -m bench.replay takes the same options and files."
_NO_WALL = "The page has no votes: it shows what was posted from feeds."
_INSTEAD_OF_WEBHOOKS = (
    "Programs read what was posted in /feed.json or /feed.xml of the page, and ask the API or MCP."
)
_NO_MEDIA = "Pictures and videos of texts are not stored: the page of a text links to its original."

_ONE_URL = (
    "Name all servers in database.url, with target_session_attrs=read-write: the one that takes"
    " writes is used."
)

# By the words on the command line. The sentence says what to do instead.
RETIRED_COMMANDS: Mapping[str, str] = {
    "eval": "In a checkout, python -m bench.evaluate takes the same options and files.",
    "man": "presagio --help lists the commands, and presagio COMMAND --help tells about one.",
    "site": "presagio serve --web shows the pages, and presagio corpora export writes the texts.",
    "wall": _NO_WALL,
    "webhooks": _INSTEAD_OF_WEBHOOKS,
    "corpora media": _NO_MEDIA,
    "backup --media": _NO_MEDIA,
    "restore --known-only": "A restore brings back all that the file holds.",
    "restore --media": _NO_MEDIA,
    "restore --replace": "Name an empty database in PRESAGIO_DATA_DIR or DATABASE_URL.",
    "compose --record": _REPLAY,
    "compose --replay": _REPLAY,
}
_FIXED_WEIGHTS = (
    "What find weighs for each kind of corpus is fixed, and docs/kinds.md has the table."
)
# By section, or by section and key: "web", "web.votes".
RETIRED_SETTINGS: Mapping[str, str] = {
    "database.replicas": _ONE_URL,
    "database.max_lag": _ONE_URL,
    "llm.reasons": "The model gives reasons for the texts that are shown, at most three.",
    "personal.decay_days": _FIXED_WEIGHTS,
    "personal.lexical": _FIXED_WEIGHTS,
    "personal.recency": _FIXED_WEIGHTS,
    "personal.role": _FIXED_WEIGHTS,
    "personal.thread": _FIXED_WEIGHTS,
    "posting.promising": "A story that no model judged needs a text that covers a third of it.",
    "published.authority": _FIXED_WEIGHTS,
    "published.lexical": _FIXED_WEIGHTS,
    "social": _FIXED_WEIGHTS,
    "web.votes": _NO_WALL,
    "web.wall": _NO_WALL,
    "web.wall_voters": _NO_WALL,
    "webhooks": _INSTEAD_OF_WEBHOOKS,
    "logging.format": "Lines are text with name=value, which collectors read as logfmt.",
}


def explain_retired_command(name: str) -> str | None:
    """Return what became of a command, or None if there never was such a command."""
    return (
        f"presagio {name} is gone. {RETIRED_COMMANDS[name]}" if name in RETIRED_COMMANDS else None
    )


def explain_retired_setting(section: str, key: str = "") -> str | None:
    """Return what to do without a setting or a section that is gone, or None if it never was."""
    return RETIRED_SETTINGS.get(f"{section}.{key}") or RETIRED_SETTINGS.get(section)
