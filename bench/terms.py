"""When which process relied on a lease, by its own notes, and where two did at once."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

# The time by a clock that all processes share, the fence, and the time of day.
NOTE = struct.Struct("<dqd")
_STEP = 1.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The time in which a process relied on a lease under one fence."""

    process: str
    fence: int
    first: float
    last: float


def terms(process: str, notes: bytes) -> list[Term]:
    """Return the terms of a process. A note that a kill cut short is left out."""
    found = []
    for fence, some in groupby(_unpacked(notes), lambda note: note[1]):
        times = [note[0] for note in some]
        found.append(Term(process=process, fence=fence, first=times[0], last=times[-1]))
    return found


def steps(notes: bytes) -> int:
    """Return how often the time of day was set forward or back, as far as the process noted it."""
    ahead = [wall - time for time, _, wall in _unpacked(notes)]
    return sum(abs(other - one) > _STEP for one, other in pairwise(ahead))


def _unpacked(notes: bytes) -> Iterator[tuple[float, int, float]]:
    return NOTE.iter_unpack(memoryview(notes)[: len(notes) // NOTE.size * NOTE.size])


def overlaps(found: Iterable[Term]) -> list[tuple[Term, Term]]:
    """Return pairs of terms of different processes that overlap in time."""
    both, latest = [], None
    for term in sorted(found, key=lambda one: one.first):
        if latest and term.first <= latest.last and term.process != latest.process:
            both.append((latest, term))
        if latest is None or term.last > latest.last:
            latest = term
    return both


def falls(found: Iterable[Term]) -> list[tuple[Term, Term]]:
    """Return pairs of terms of which the later has no higher fence."""
    ordered = sorted(found, key=lambda one: one.first)
    return [(one, other) for one, other in pairwise(ordered) if other.fence <= one.fence]


def late(fences: Sequence[int]) -> int:
    """Return how many writes, in the order of their numbers, came after one of a higher fence."""
    highest, count = 0, 0
    for fence in fences:
        count += fence < highest
        highest = max(highest, fence)
    return count
