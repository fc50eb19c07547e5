"""Named statements, kept in .sql files beside this module.

A file holds blocks that start with a line `-- name: some_name`.
"""

from functools import cache
from importlib.resources import files

_MARK = "-- name:"


@cache
def statements(file: str) -> dict[str, str]:
    """Return the statements of `db/sql/<file>.sql` by name."""
    text = (files("db") / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for block in text.split(_MARK)[1:]:
        name, _, body = block.partition("\n")
        found[name.strip()] = body.strip()
    return found
