"""Percentiles, intervals, tokens, and the output of a bench: rows as JSON, then a table."""

import json
import sys
import warnings
from collections.abc import Callable, Sequence

import numpy as np


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of some durations."""
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000
    return {"p50_ms": round(float(p50), 3), "p95_ms": round(float(p95), 3)}


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by the same 10,000 resamples each time."""
    given = np.asarray(values)
    picked = np.random.default_rng(1).integers(0, len(given), (10_000, len(given)))
    low, high = np.percentile(given[picked].mean(axis=1), [2.5, 97.5])
    return round(float(low), 3), round(float(high), 3)


def open_token_counter() -> tuple[str, Callable[[str], int]]:
    """Return a name and a function that counts the tokens of a text.

    They are those of o200k_base, the vocabulary of the default model's family, if bpe-openai is
    installed, which ships it; else characters over four.
    """
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        try:
            from bpe_openai import get_encoding
        except ImportError:
            return "characters / 4", lambda text: len(text) // 4
        encoding = get_encoding("o200k_base")
    return "o200k_base", lambda text: len(encoding.encode(text))


class Output:
    """Prints each row immediately as a JSON line, and all rows as a table at the end."""

    def __init__(self, bench: str) -> None:
        self._bench = bench
        self._rows: list[dict[str, object]] = []

    def row(self, **figures: object) -> None:
        """Print one result, leaving out figures that are None."""
        row = {"bench": self._bench, **{k: v for k, v in figures.items() if v is not None}}
        self._rows.append(row)
        print(json.dumps(row), flush=True)

    def table(self) -> None:
        """Print everything for a person, on stderr."""
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        cells = [names, *([_cell(row.get(name)) for name in names] for row in self._rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
        for line in cells:
            texts = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            print("  ".join(texts).rstrip(), file=sys.stderr)


def progress(said: str) -> None:
    """Print a progress message."""
    print(said, file=sys.stderr, flush=True)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)
