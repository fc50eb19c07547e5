"""Runs isolated functions where the processes are not what is tested: cheaper ones, or none."""

import asyncio
import gc
import os
import signal
import sys
import warnings
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, ParamSpec, TypeVar
from unittest.mock import patch

from engine import process_pool
from engine.process_pool import Limits, ProcessPool
from engine.process_worker import main as work_for_owner
from engine.process_worker import pack

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class InThisProcess(ProcessPool):
    """Starts no process."""

    async def run(
        self,
        function: Callable[_Given, _Result],
        /,
        *args: _Given.args,
        **kwargs: _Given.kwargs,
    ) -> _Result:
        return function(*args, **kwargs)


@contextmanager
def forked_workers() -> Iterator[None]:
    """Have isolated processes forked from this one, which has imported what they need."""
    if sys.platform == "linux":
        with patch.object(process_pool, "_spawn_process", fork_worker):
            yield
    else:  # nothing may be done after a fork
        yield


async def fork_worker(limits: Limits) -> Process:
    """Start an isolated process with the same limits as its owner would, but forked from here."""

    def work() -> NoReturn:  # in the child, whose standard streams are in place
        gc.freeze()  # what is lost here would close files that this process opens
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # from here on its owner takes it for started
        os.environ.clear()
        os.environ.update(limits.environment)
        memory = limits.memory and limits.memory + _address_space()
        given = pack([memory, limits.niceness, limits.modules]).decode()
        sys.argv[:] = ["-c", given, *sys.path]
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        try:
            work_for_owner()
            sys.stdout.flush()
        finally:
            os._exit(0)

    with warnings.catch_warnings():  # of threads that are not there after the fork
        warnings.simplefilter("ignore", DeprecationWarning)
        return await asyncio.create_subprocess_exec(
            sys.executable,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            limit=process_pool._BUFFER,
            start_new_session=True,
            preexec_fn=work,  # never returns, so nothing is executed
        )


def _address_space() -> int:
    """Return the bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
