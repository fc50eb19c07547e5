"""Counts how the calls of a model ended, for operators."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum

from engine.errors import BudgetExhausted, ModelError, ModelPaused


class CallOutcome(StrEnum):
    """How a call ended, or why it was not made."""

    ANSWERED = "answered"
    FAILED = "failed"
    PAUSED = "paused"  # after failures, the endpoint is left alone for a while
    OVER_BUDGET = "over budget"


class CallOutcomes:
    """The outcomes of the calls of one process. A call that is cancelled has none."""

    def __init__(self) -> None:
        self._times = Counter(dict.fromkeys(CallOutcome, 0))

    @property
    def times(self) -> Mapping[CallOutcome, int]:
        """How often each outcome occurred so far."""
        return self._times

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Wrap one call."""
        try:
            yield
        except ModelError as error:
            self._times[_outcome(error)] += 1
            raise
        self._times[CallOutcome.ANSWERED] += 1


def _outcome(error: ModelError) -> CallOutcome:
    match error:
        case BudgetExhausted():
            return CallOutcome.OVER_BUDGET
        case ModelPaused():
            return CallOutcome.PAUSED
        case _:
            return CallOutcome.FAILED
