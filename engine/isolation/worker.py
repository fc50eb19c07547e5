"""The worker's side: it takes orders on standard input and sends notes and answers to its output.

An order names a function of a module, or a method of a class, of which the process makes one object
with its owner, and gives the processor time and the arguments.

The process ends with its input. It also limits itself where the system allows, so that it ends even
if its owner is gone: its address space on Linux, its processor time on every system but Windows.
Elsewhere the owner's clock is the only limit.
"""

import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import PurePath
from traceback import extract_tb
from typing import Any, BinaryIO, TypeAlias, get_type_hints

from engine.errors import PresagioError
from engine.isolation.frames import (
    ANSWER,
    FAULT,
    GREEDY,
    HEADER,
    NOTE,
    READY,
    REFUSAL,
    convert,
    pack,
    pack_frame,
    pack_refusal,
    unpack,
)

if sys.platform != "win32":
    import resource

Answer: TypeAlias = Callable[[bytes], bytes]


class Owner:
    """The owner as the worker sees it: gets notes, and replies, while an order is handled."""

    def __init__(self, orders: BinaryIO, answers: BinaryIO) -> None:
        self._orders, self._answers = orders, answers

    def tell(self, note: bytes) -> None:
        """Send the owner a note. Blocks while the owner is behind."""
        self.send(pack_frame(NOTE, note))

    def ask(self, note: bytes) -> bytes:
        """Send the owner a note and return the reply. Raises EOFError if there is none."""
        self.tell(note)
        reply = self.receive()
        if reply is None:
            raise EOFError("the owner is gone")
        return reply

    def send(self, frames: bytes) -> None:
        """Write packed frames."""
        self._answers.write(frames)
        self._answers.flush()

    def receive(self) -> bytes | None:
        """Return the next content, or None if the input has ended or is cut off."""
        header = self._orders.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        _, length = HEADER.unpack(header)
        content = self._orders.read(length)
        return content if len(content) == length else None


def work(owner: Owner, answer: Answer) -> None:
    """Answer orders until there are no more. `answer` may raise PresagioError."""
    owner.send(READY)
    for order in _orders(owner):
        owner.send(_answer_order(order, answer))


def _orders(owner: Owner) -> Iterator[bytes]:
    while (order := owner.receive()) is not None:
        yield order


def _answer_order(order: bytes, answer: Answer) -> bytes:
    try:
        return pack_frame(ANSWER, answer(order))
    except PresagioError as exc:
        return pack_frame(REFUSAL, pack_refusal(exc))
    except MemoryError:
        return pack_frame(GREEDY)
    except (BrokenPipeError, EOFError):  # the owner is gone
        raise
    except Exception as exc:
        # The message may quote what people wrote.
        last = extract_tb(exc.__traceback__)[-1]
        said = f"{type(exc).__name__} in {PurePath(last.filename).name}:{last.lineno}"
        return pack_frame(FAULT, said.encode("utf-8", "replace"))


def allow(seconds: float) -> None:
    """End this process after `seconds` more of processor time; 0 means never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def seconds_left() -> float:
    """Return the processor time left, in seconds; 0 if there is no limit."""
    return 0.0 if sys.platform == "win32" else signal.getitimer(signal.ITIMER_PROF)[0]


def seconds_used() -> float:
    """Return the processor time that this process has taken, in seconds."""
    times = os.times()
    return times.user + times.system


def limit_process(memory: int, niceness: int) -> None:
    """Limit this process to an address space of `memory` bytes, and let others go first.

    Only Linux enforces the first. What it reads never goes into a core file.
    """
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(niceness)
    if sys.platform == "linux" and memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


class Calls:
    """Calls what orders name."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._objects: dict[type, object] = {}

    def answer(self, order: bytes) -> bytes:
        """Return what the call of an order returns. Raises whatever it raises."""
        name, seconds, args, kwargs = unpack(list[Any], order)
        call = self._find_function(name)
        types = _types(getattr(call, "__func__", call))
        given = [convert(kind, value) for kind, value in zip(types.values(), args, strict=False)]
        named = {key: convert(types[key], value) for key, value in kwargs.items()}
        if not seconds:
            return pack(call(*given, **named))
        allow(seconds)
        try:
            return pack(call(*given, **named))
        finally:
            allow(0)

    def _find_function(self, name: str) -> Callable[..., object]:
        module, _, path = name.partition(":")
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
            if isinstance(found, type):
                found = self._objects.get(found) or self._objects.setdefault(
                    found, found(self._owner)
                )
        called: Callable[..., object] = found
        return called


@cache
def _types(function: Callable[..., object]) -> Mapping[str, Any]:
    """Return the types of a function's parameters, in order."""
    types = get_type_hints(function)
    return {name: types[name] for name in inspect.signature(function).parameters if name in types}


def main() -> None:
    """Work for the process at the other end of the pipes, as the first argument says."""
    memory, niceness, modules = unpack(list[Any], sys.argv[1].encode())
    limit_process(memory, niceness)
    for module in modules:
        with suppress(ImportError):  # the order that needs it will say so
            import_module(module)
    owner = Owner(sys.stdin.buffer, sys.stdout.buffer)
    try:
        work(owner, Calls(owner).answer)
    except (BrokenPipeError, EOFError):  # the owner was killed
        # Python flushes the output once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
