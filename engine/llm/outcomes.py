"""Counts and logs how the calls of a model ended, for operators."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum

from engine.errors import BudgetExhausted, ModelError, ModelPaused
from engine.llm.wire import ChatAnswer

logger = logging.getLogger("presagio.llm")

_SLOW_SECONDS = 10.0  # a person in a chat has stopped looking by then


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


def log_answer(purpose: str, answer: ChatAnswer, seconds: float) -> None:
    """Log an answer's figures, never its words: as an event if it was slow, else for debugging."""
    slow, usage = seconds >= _SLOW_SECONDS, answer.usage
    fields = {
        "purpose": purpose,
        "model": answer.model,
        "seconds": round(seconds, 1),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "usd": usage.cost_usd,
    }
    logger.log(
        logging.INFO if slow else logging.DEBUG,
        "model slow" if slow else "model answered",
        extra={"fields": fields},
    )
