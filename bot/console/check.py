"""One thing that `presagio doctor` looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`ok` None means that it is not set up, which is no fault."""

    check: str
    ok: bool | None
    detail: str
    fix: str | None = None
