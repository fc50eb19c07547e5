"""Computes what many texts and chats take: `python -m bench.scale`.

Prints the tables of docs/scale.md, from figures that other benches measured (each names its own)
and from prices given as parameters. `make docs` puts them into the page.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

_HOUR, _DAY = 3600, 86_400
TEXTS = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
CHATS = (10_000, 100_000, 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured; docs/scale.md says by which bench."""

    # python -m bench.sizes, bytes a document: of the archive whose tweets take more
    tweet: int = 1_323
    vector: int = 924 + 1_182
    chat: int = 474
    # python -m bench.chunks (docs/decisions/0030): texts, postings and their index
    chunk: int = 7_740 + 8_290 + 6_590
    # python -m bench.retrieval, eight clients on two cores: (documents, queries a second)
    small: tuple[int, float] = (56_573, 342)
    large: tuple[int, float] = (1_000_000, 95)
    cores: int = 2
    # python -m bench.forward --systems general, both calls of a headline with at most 52 candidates
    asked_english: int = 2_960
    asked_spanish: int = 3_740
    answered: int = 255
    # python -m bench.ingest, tweets a second; docs/decisions/0014, texts a second of one core
    ingested: float = 9_006
    embedded: float = 30
    # Telegram's documentation, messages a second of one bot
    telegram: float = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars for a million tokens."""

    asked: float = 0.25
    answered: float = 2.0


def queries_a_core(figures: Figures, documents: int) -> float:
    """Return queries a second of one core, by the power law through the two measured sizes."""
    (few, fast), (many, slow) = figures.small, figures.large
    slope = math.log(slow / fast) / math.log(many / few)
    return slow * math.pow(documents / many, slope) / figures.cores


def million_headlines(figures: Figures, prices: Prices, asked: int) -> float:
    """Return the dollars that judging a million headlines costs, each once."""
    return asked * prices.asked + figures.answered * prices.answered


def bots(figures: Figures, chats: int, seconds: float) -> int:
    """Return how many bots send one message to each chat in this time."""
    return math.ceil(chats / (figures.telegram * seconds))


def texts_table(figures: Figures) -> str:
    """Return what one corpus of each size takes."""
    rows = [
        (
            f"{number:,}",
            _bytes(number * figures.tweet),
            _bytes(number * figures.chunk),
            _bytes(number * figures.vector),
            f"{queries_a_core(figures, number):.2g}",
            _time(number / figures.ingested),
            _time(number / figures.embedded),
        )
        for number in TEXTS
    ]
    head = (
        "texts",
        "as tweets",
        "as chunks",
        "vectors, indexed",
        "queries a second and core",
        "ingest",
        "embedding, one core",
    )
    return _table(head, rows)


def chats_table(figures: Figures) -> str:
    """Return what chats take, and how long one message to each of them takes."""
    rows = [
        (
            f"{number:,}",
            _bytes(number * figures.chat),
            _time(number / figures.telegram),
            f"{bots(figures, number, _HOUR):,}",
            f"{bots(figures, number, _DAY):,}",
        )
        for number in CHATS
    ]
    head = ("chats", "disk", "one bot reaches all in", "bots for an hour", "bots for a day")
    return _table(head, rows)


def prices_table(figures: Figures, prices: Prices) -> str:
    """Return what judging a million headlines costs."""
    languages = (("English", figures.asked_english), ("Spanish", figures.asked_spanish))
    rows = [
        (
            language,
            f"{asked:,}",
            f"{figures.answered:,}",
            f"${million_headlines(figures, prices, asked):,.0f}",
        )
        for language, asked in languages
    ]
    head = ("archive", "tokens asked", "tokens answered", "a million headlines")
    return _table(head, rows)


def tables(figures: Figures, prices: Prices) -> dict[str, str]:
    """Return the tables of the page by their names."""
    return {
        "texts": texts_table(figures),
        "chats": chats_table(figures),
        "prices": prices_table(figures, prices),
    }


def _bytes(number: float) -> str:
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:.3g} {unit}"


def _time(seconds: float) -> str:
    for unit, size in (("days", _DAY), ("h", _HOUR), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the prices, compute, print or write."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    usual = Prices()
    parser.add_argument("--asked", type=float, default=usual.asked, help="USD a million tokens")
    parser.add_argument("--answered", type=float, default=usual.answered, help="the same")
    arguments = parser.parse_args(argv)
    prices = Prices(asked=arguments.asked, answered=arguments.answered)
    print("\n\n".join(tables(Figures(), prices).values()))


if __name__ == "__main__":
    main()
