"""The engine: reading, retrieval, judging, ranking and writing, without clock, SQL or chat.

The names below are promised to programs (docs/library.md). Each is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.answer.types import AnswerOutcome, CitedAnswer, CitedSource, Passage, Sentence
    from engine.errors import (
        CorpusNotFound,
        InputError,
        ModelError,
        PresagioError,
        SettingsError,
        StorageError,
        UsageError,
    )
    from engine.prophecy.headline import read_headline
    from engine.query.types import Counts, FindHit, Found, FoundDocument, Match
    from engine.search import (
        Candidate,
        Filters,
        Headline,
        Hit,
        Mode,
        Prophecy,
        SearchRequest,
        Verdict,
    )
    from engine.types import Corpus, Flag, Kind

# Where the names are defined, those first that are quick to import.
_HOMES = (
    "engine.errors",
    "engine.types",
    "engine.search",
    "engine.prophecy.headline",
    "engine.query.types",
    "engine.answer.types",
)

__all__ = [
    "AnswerOutcome",
    "Candidate",
    "CitedAnswer",
    "CitedSource",
    "Corpus",
    "CorpusNotFound",
    "Counts",
    "Filters",
    "FindHit",
    "Flag",
    "Found",
    "FoundDocument",
    "Headline",
    "Hit",
    "InputError",
    "Kind",
    "Match",
    "Mode",
    "ModelError",
    "Passage",
    "PresagioError",
    "Prophecy",
    "SearchRequest",
    "Sentence",
    "SettingsError",
    "StorageError",
    "UsageError",
    "Verdict",
    "read_headline",
]


if not TYPE_CHECKING:  # a type checker would believe in any name

    def __getattr__(name: str) -> object:
        if name in __all__:
            for home in map(import_module, _HOMES):
                if hasattr(home, name):
                    return getattr(home, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
