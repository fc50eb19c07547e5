"""How the time of every pattern and text function grows with its text: the ratio for twice as much.

`python -m bench.growth [--patterns] [--functions] [--only WORD] [--all]`

Each regular expression of engine, bot and db is used on texts that would make it backtrack, and
each function that takes a text on many pieces repeated. What takes longest is then measured at two
sizes, the second eight times the first. Prints what exceeds LIMIT, or with --all everything, and
exits with 1 where anything does. Processor time is counted, the best of several attempts, so that a
busy machine changes little.
"""

import argparse
import gc
import logging
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from bench.hostile_texts import Use, hostile_texts, modules, patterns, ways
from bench.text_functions import make_texts, reader_uses, text_functions, text_uses
from bench.timing import Output

LIMIT = 2.5  # times as long for twice the text
_SMALLEST, _USUAL, _LARGEST = 125, 1_000, 16_000  # characters of the smaller text
_DOUBLINGS = 3
_TIMES = 2**_DOUBLINGS
_MEASURABLE = 0.001  # seconds
_ENDLESS = 2.0
_FAST = 0.012  # of the larger text: so short times say nothing about growth
_SHORTEST = _FAST / _TIMES  # of the smaller one: on a busy machine less may look like anything
_ATTEMPTS = 5

T = TypeVar("T")
Make = Callable[[int], Any]  # a text of about so many characters
Work = Callable[[Any], object]


class _TooSlow(BaseException):  # no function takes it for a fault of its own
    pass


@dataclass(frozen=True, slots=True)
class Growth:
    """How long the worst text takes, and how many times as long one twice as long."""

    name: str
    text: str
    size: int
    seconds: float
    ratio: float

    def as_row(self) -> dict[str, object]:
        """Return the figures by name."""
        text, milliseconds = self.text[:60], round(1000 * self.seconds, 2)
        ratio = round(self.ratio, 2)
        return {
            "name": self.name,
            "text": text,
            "size": self.size,
            "ms": milliseconds,
            "ratio": ratio,
        }


def pattern_growth(package: str, only: str = "") -> Iterator[Growth]:
    """Yield the growth of each regular expression of a package, in each way that it is used."""
    known = list(modules(package))
    by_name = {module.__name__: module for module in known}
    for name, pattern in patterns(known).items():
        home = [module for own, module in by_name.items() if name.startswith(f"{own}.")]
        readers = known if not name.rpartition(".")[2].startswith("_") else home
        for way in sorted(ways(name, readers)) if only in name else ():
            yield measure_pattern(Use(name, pattern, way))


def measure_pattern(use: Use) -> Growth:
    """Return the growth of a pattern on the worst of the texts that are made for it."""
    texts = ((str(text), text.of_size) for text in hostile_texts(use.pattern))
    return measure_growth(f"{use.name}.{use.way}", texts, use.on, compared=8_000)


def function_growth(package: str, only: str = "") -> Iterator[Growth]:
    """Yield the growth of each function of a package with each text that it takes."""
    for name, function in text_functions(package):
        for parameter, use in text_uses(function) if only in name else ():
            yield measure_growth(f"{name}({parameter})", make_texts(), use, measured=3)


def reader_growth(only: str = "") -> Iterator[Growth]:
    """Yield the growth of the guard, and of what reads models' answers, with what these hold."""
    for name, use in reader_uses():
        if only in name:
            yield measure_growth(name, make_texts(), use, measured=3)


def measure_growth(
    name: str,
    texts: Iterable[tuple[str, Make]],
    use: Work,
    *,
    compared: int = 4_000,
    measured: int = 1,
) -> Growth:
    """Return the growth on the text that takes longest.

    The texts are compared at so many characters; the worst of them are `measured`.
    """
    timed = [(_least_seconds(use, make(compared), 1), shown, make) for shown, make in texts]
    worst = sorted(timed, key=lambda entry: -entry[0])[:measured]
    found = [_measure_text(name, shown, make, use) for _, shown, make in worst]
    return max(found, key=lambda growth: growth.ratio)


def _measure_text(name: str, shown: str, make: Make, use: Work) -> Growth:
    size = _choose_size(make, use)
    seconds, ratio = _compare_sizes(make, use, size)
    return Growth(name, shown, size, seconds, ratio)


def _choose_size(make: Make, use: Work) -> int:
    """Return a size that takes long enough to measure, where the larger one still ends in time."""
    size = _USUAL
    while size < _LARGEST and _least_seconds(use, make(size)) < _MEASURABLE:
        size *= 2
    while size > _SMALLEST and _least_seconds(use, make(size), 1) > _ENDLESS / (2 * _TIMES):
        size //= 2
    return size


def _compare_sizes(
    make: Callable[[int], T], use: Callable[[T], object], size: int
) -> tuple[float, float]:
    """Return the seconds for a size, and the growth for each doubling up to eight times as much."""
    small, large = make(size), make(_TIMES * size)
    seconds, ratio = float("inf"), float("inf")
    for _ in range(_ATTEMPTS):
        seconds = min(seconds, _least_seconds(use, small))
        times = _least_seconds(use, large) / max(seconds, _SHORTEST)
        ratio = min(ratio, times ** (1 / _DOUBLINGS))
        if ratio <= LIMIT:
            break
    return seconds, ratio


def grows_faster(make: Callable[[int], T], use: Callable[[T], object], size: int = 8_000) -> bool:
    """Return whether using a text of this size takes longer than its share of one of an eighth."""
    large = make(size)
    if not seconds_over(_FAST, lambda: use(large)):
        return False
    return _compare_sizes(make, use, size // _TIMES)[1] > LIMIT


def _least_seconds(use: Callable[[T], object], text: T, attempts: int = 3) -> float:
    """Return the least processor time of some attempts, or infinity if one takes for ever."""
    least = float("inf")
    for _ in range(attempts):
        started = time.thread_time()
        if seconds_over(_ENDLESS, partial(use, text)):
            break
        least = min(least, time.thread_time() - started)
        if least > _ENDLESS / 10:
            break
    return least


def seconds_over(seconds: float, work: Callable[[], object]) -> bool:
    """Return whether `work` takes more processor time than that; it is ended there."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, end)
    watching = sys.gettrace()
    sys.settrace(None)  # what is raised while coverage holds its lock leaves it held for good
    gc.disable()  # what is raised within a callback of the collector is lost
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        work()
    except _TooSlow:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
        sys.settrace(watching)
        signal.signal(signal.SIGVTALRM, before)
    return False


def measure_all(*, with_patterns: bool, with_functions: bool, only: str) -> Iterator[Growth]:
    """Yield the growth of everything."""
    for package in ("engine", "bot", "db") if with_patterns else ():
        yield from pattern_growth(package, only)
    if with_functions:
        yield from reader_growth(only)
    for package in ("engine", "bot") if with_functions else ():
        yield from function_growth(package, only)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and exit with 1 if anything grows too fast."""
    warnings.simplefilter("ignore")  # of functions that take a pattern
    logging.disable()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patterns", action="store_true", help="regular expressions alone")
    parser.add_argument("--functions", action="store_true", help="functions alone")
    parser.add_argument("--only", default="", help="only names that hold this word")
    parser.add_argument("--all", action="store_true", help="print also what grows as its text")
    chosen = parser.parse_args(arguments)
    output, tried, steep = Output("growth"), 0, 0
    for growth in measure_all(
        with_patterns=not chosen.functions, with_functions=not chosen.patterns, only=chosen.only
    ):
        tried += 1
        steep += growth.ratio > LIMIT
        if chosen.all or growth.ratio > LIMIT:
            output.row(**growth.as_row())
    output.row(name="all", tried=tried, above_limit=steep)
    output.table()
    sys.exit(1 if steep else 0)


if __name__ == "__main__":
    main()
