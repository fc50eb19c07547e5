"""The filters of headlines in SQL, which queries and vectors use as well."""

from db.statements import statements
from engine.search import Filters
from engine.types import Flag


def passes(before: str, after: str, require: str, exclude: str) -> str:
    """Return the condition on a document, with the filters at these parameters."""
    return statements("search")["passes"].format(
        before=before, after=after, require=require, exclude=exclude
    )


def passing_flags(filters: Filters) -> list[int] | None:
    """Return every combination of flags that passes, because the planner knows nothing of bits."""
    if not filters.require and not filters.exclude:
        return None
    return [
        flags
        for flags in range(2 * max(Flag))
        if flags & filters.require == filters.require and not flags & filters.exclude
    ]
