"""The worker's side: it takes orders on standard input and sends notes and answers to its output.

The process ends with its input. It also limits itself where the system allows, so that it ends even
if its owner is gone: its address space on Linux, its processor time on every system but Windows.
Elsewhere the owner's clock is the only limit.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath
from traceback import extract_tb
from typing import BinaryIO, TypeAlias

from engine.errors import PresagioError
from engine.isolation.frames import (
    ANSWER,
    FAULT,
    GREEDY,
    HEADER,
    NOTE,
    READY,
    REFUSAL,
    pack_frame,
    pack_refusal,
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
        owner.send(_answered(order, answer))


def _orders(owner: Owner) -> Iterator[bytes]:
    while (order := owner.receive()) is not None:
        yield order


def _answered(order: bytes, answer: Answer) -> bytes:
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


def limit_memory(size: int) -> None:
    """Limit this process to an address space of `size` bytes.

    Only Linux enforces such a limit.
    """
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def run_worker(employ: Callable[[Owner], Answer]) -> None:
    """Work for the process at the other end of the pipes; the first argument limits the memory."""
    limit_memory(int(sys.argv[1]))
    owner = Owner(sys.stdin.buffer, sys.stdout.buffer)
    try:
        work(owner, employ(owner))
    except (BrokenPipeError, EOFError):  # the owner was killed
        # Python flushes the output once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
