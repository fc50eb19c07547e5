"""A circuit breaker that pauses calls to an endpoint after repeated failures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.errors import ModelError, ModelPaused
from engine.messages import Message


class Breaker:
    """A circuit breaker over whole calls.

    Closed: every call passes. After `failures` failed calls in a row it opens for `pause`
    seconds and calls raise ModelPaused. Then one call probes while others still raise, and the
    outcome of the probe closes or opens it again. `clock` returns monotonic seconds.

    Only errors that may pass by themselves (ModelError.retryable) count: any other answer,
    including a refusal, shows that the endpoint is alive.
    """

    def __init__(self, *, failures: int, pause: float, clock: Callable[[], float]) -> None:
        self._limit = failures
        self._pause = pause
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._probing = False

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Wrap one call. Raises ModelPaused if it may not be made."""
        probe = self._admit()
        try:
            yield
        except ModelError as error:
            self._settle(failed=error.retryable)
            raise
        else:
            self._settle(failed=False)
        finally:  # a cancelled call says nothing about the endpoint, but ends its probe
            if probe:
                self._probing = False

    def _admit(self) -> bool:
        if self._failures < self._limit:
            return False
        left = self._open_until - self._clock()
        if left > 0 or self._probing:
            raise ModelPaused(
                Message(
                    "The model failed {failures} times in a row and is left alone.",
                    failures=self._failures,
                ),
                fix=Message("It is tried again in {left:.0f} s.", left=max(left, 1)),
            )
        self._probing = True
        return True

    def _settle(self, *, failed: bool) -> None:
        if not failed:
            self._failures = 0
            return
        self._failures += 1
        if self._failures >= self._limit:
            self._open_until = self._clock() + self._pause
