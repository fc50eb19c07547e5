"""The search log: what was asked, how it was answered, and what it cost.

A headline in a chat is a private message, so only its hash is logged. See
docs/decisions/0016-search-log.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from engine.budget import BudgetSource
from engine.values import Usage


class Origin(StrEnum):
    """Where a search comes from."""

    CONSOLE = "console"  # whoever runs the program
    CHAT = "chat"
    AGENT = "agent"


class SearchJob(StrEnum):
    """What kind of search was requested."""

    FIND = "find"
    SEARCH = "search"
    ASK = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The origin of a search, its task, and the budget source that pays for it."""

    origin: Origin
    task: str
    source: BudgetSource


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSearch:
    """One search. `quotable` is True if its text may be logged, False if only the text's hash."""

    asker: Asker
    job: SearchJob
    asked_at: datetime
    milliseconds: float
    text: str
    quotable: bool
    corpus: str | None = None
    expanded: str | None = None
    filters: tuple[str, ...] = ()
    plan: str | None = None
    counts: Mapping[str, int | None] = field(default_factory=dict)
    returned: tuple[str, ...] = ()  # external ids, best first
    platforms: tuple[str, ...] = ()  # of what was returned
    usage: Usage | None = None  # None: nothing was spent
    error: str | None = None  # the name of the class only: the message may quote the text
