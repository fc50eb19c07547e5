"""Log lines that repeat: a fault that comes a thousand times a second must not fill the disk."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator

_MOST = 5  # of the same message in a window
_WINDOW = 60.0  # seconds
_KINDS = 1000  # messages that are told apart

_Key = tuple[str, int, str, str]


class LimitedHandler(logging.StreamHandler):  # type: ignore[type-arg]  # whatever stderr is
    """Writes the same message a few times a minute, and then how often it was repeated."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` tells seconds and never goes back."""
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._seen: Counter[_Key] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, unless it was written often enough of late."""
        now = self._clock()
        if now - self._since >= _WINDOW or len(self._seen) >= _KINDS:
            self._sum_up()
            self._since = now
        key = _key(record)
        self._seen[key] += 1
        if self._seen[key] <= _MOST:
            super().emit(record)

    def close(self) -> None:
        """Say what is still to be said of repetitions."""
        self.acquire()
        try:
            self._sum_up()
        finally:
            self.release()
        super().close()

    def _sum_up(self) -> None:
        for summary in _summaries(self._seen):
            super().emit(summary)
        self._seen.clear()


def _key(record: logging.LogRecord) -> _Key:
    error = record.exc_info[1] if record.exc_info else None
    return record.name, record.levelno, record.getMessage(), repr(error) if error else ""


def _summaries(seen: Counter[_Key]) -> Iterator[logging.LogRecord]:
    for (name, level, message, _), times in seen.items():
        if times > _MOST:
            said = f"{message} (repeated {times - _MOST} times)"
            yield logging.makeLogRecord(
                {
                    "name": name,
                    "levelno": level,
                    "levelname": logging.getLevelName(level),
                    "msg": said,
                }
            )
