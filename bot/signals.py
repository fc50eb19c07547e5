"""Handles Ctrl-C and other termination signals: orderly shutdown, matching exit code."""

import gc
import signal
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack
from types import FrameType
from typing import TypeAlias, TypeVar

_Result = TypeVar("_Result")
_Handler: TypeAlias = Callable[[int, FrameType | None], object] | int

# Ctrl-C, a request to terminate, and a closed terminal (not on Windows).
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNALS = [signal.Signals[name] for name in _NAMES if name in signal.Signals.__members__]


def exit_on_signals() -> None:
    """Make termination signals raise SystemExit in the main thread.

    The exit code is 128 plus the signal's number, as shells report it: 130 for Ctrl-C.
    """
    _install_handler(_exit)


def exit_while_asking() -> AbstractContextManager[object]:
    """Make signals end a question to a person at once: `run_until_signal` would cancel work that
    waits for the answer, and so never notices."""
    return _install_handler(_exit)


def run_until_signal(work: Coroutine[object, object, _Result]) -> _Result:
    """Run `work` to its end like asyncio.run; a signal cancels it and then raises SystemExit.

    A second signal ends the process at once. Call it in the main thread.
    """
    # Imported here because it is slow, and signals must be handled before.
    import asyncio  # noqa: PLC0415 - slow, as above

    if not gc.isenabled():  # as main leaves it while a command is imported
        gc.freeze()
        gc.enable()

    received: list[int] = []

    async def cancellable() -> _Result:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task  # noqa: S101 - a coroutine under asyncio.run is one

        def cancel(number: int, _: FrameType | None) -> None:
            received.append(number)
            _install_handler(signal.SIG_DFL)
            loop.call_soon_threadsafe(task.cancel)

        with _install_handler(cancel):
            return await work

    try:
        return asyncio.run(cancellable())
    except BaseException:
        # Cancelled work may fail with another error; the signal is the cause.
        if received:
            raise SystemExit(128 + received[0]) from None
        raise


def _exit(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _install_handler(handler: _Handler) -> AbstractContextManager[object]:
    """Set the handler of every signal that is not ignored (nohup), and restore it on exit."""
    back = ExitStack()
    for number in _SIGNALS:
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN:
            signal.signal(number, handler)
            back.callback(signal.signal, number, before)
    return back
