"""Named statements, stored in .sql files beside this module.

A file holds blocks that start with a line `-- name: some_name(first, second)`: the names of the
parameters $1, $2 and so on, continued on comment lines if they do not fit.
"""

import re
from functools import cache
from importlib.resources import files

_HEADER = re.compile(r"^-- name: (\w+)(?:\([^)]*\))?\n", re.MULTILINE)


@cache
def statements(file: str) -> dict[str, str]:
    """Return the statements of `db/sql/<file>.sql` by name."""
    text = (files("db") / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADER.split(text)
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}
