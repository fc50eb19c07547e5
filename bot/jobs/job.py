"""What a job is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One thing to do again and again. `work` returns how much it did."""

    name: str
    work: Callable[[], Awaitable[int]]
    every: float  # seconds between two ticks
    timeout: float  # seconds for one run
    leader: bool = True  # the leader alone does it
    finishes: bool = False  # a stop waits for it
    counts_idle: bool = True  # a run that had nothing to do is counted too
