"""When which process relied on a lease, by its own notes, and where two did at once."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

# The time, by a clock that all processes share, and the fence.
NOTE = struct.Struct("<dq")


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The time in which a process relied on a lease under one fence."""

    process: str
    fence: int
    first: float
    last: float


def terms(process: str, notes: bytes) -> list[Term]:
    """Return the terms of a process. A note that a kill cut short is left out."""
    whole = memoryview(notes)[: len(notes) // NOTE.size * NOTE.size]
    found = []
    for fence, some in groupby(NOTE.iter_unpack(whole), lambda note: note[1]):
        times = [time for time, _ in some]
        found.append(Term(process=process, fence=fence, first=times[0], last=times[-1]))
    return found


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
