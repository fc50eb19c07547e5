"""The description of a background job."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A task that is repeated. `work` returns how much it did."""

    name: str
    work: Callable[[], Awaitable[int]]
    every: float  # seconds between two ticks
    timeout: float  # seconds for one run
    leader: bool = True  # only the leader runs it
    finishes: bool = False  # shutdown waits for it
    counts_idle: bool = True  # runs that had nothing to do are counted too
