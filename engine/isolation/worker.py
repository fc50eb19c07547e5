"""The side of the worker: orders come on its input, notes and answers go to its output.

The process ends with its input. Where the system can, it limits itself, so that it ends also when
its owner is gone: its addresses on Linux, its processor time on every system but Windows. Elsewhere
the owner's clock is the only limit.
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
    """Whoever gives the orders: told notes, and asked, while one is carried out."""

    def __init__(self, orders: BinaryIO, answers: BinaryIO) -> None:
        self._orders, self._answers = orders, answers

    def tell(self, note: bytes) -> None:
        """Tell the owner something. It waits while the owner is behind."""
        self.send(pack_frame(NOTE, note))

    def ask(self, note: bytes) -> bytes:
        """Tell the owner something and return the reply. Raises EOFError when there is none."""
        self.tell(note)
        reply = self.receive()
        if reply is None:
            raise EOFError("the owner is gone")
        return reply

    def send(self, frames: bytes) -> None:
        """Write what is packed."""
        self._answers.write(frames)
        self._answers.flush()

    def receive(self) -> bytes | None:
        """Return the next content, None when the input has ended or is cut off."""
        header = self._orders.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        _, length = HEADER.unpack(header)
        content = self._orders.read(length)
        return content if len(content) == length else None


def work(owner: Owner, answer: Answer) -> None:
    """Answer the orders until there are no more. `answer` may raise PresagioError."""
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
        # Its words may quote what people wrote.
        last = extract_tb(exc.__traceback__)[-1]
        said = f"{type(exc).__name__} in {PurePath(last.filename).name}:{last.lineno}"
        return pack_frame(FAULT, said.encode("utf-8", "replace"))


def allow(seconds: float) -> None:
    """End this process after so much processor time from now on; 0: never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def seconds_left() -> float:
    """Return how much of the processor time is left; 0 where there is no limit."""
    return 0.0 if sys.platform == "win32" else signal.getitimer(signal.ITIMER_PROF)[0]


def limit_memory(size: int) -> None:
    """Let this process have at most `size` bytes of addresses.

    Only Linux keeps such a limit.
    """
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def run_worker(employ: Callable[[Owner], Answer]) -> None:
    """Work for the process that owns input and output; the first argument limits the memory."""
    limit_memory(int(sys.argv[1]))
    owner = Owner(sys.stdin.buffer, sys.stdout.buffer)
    try:
        work(owner, employ(owner))
    except (BrokenPipeError, EOFError):  # the owner was killed
        # Python flushes the output once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
