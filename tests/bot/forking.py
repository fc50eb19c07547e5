"""The `presagio` command, forked from a process that has imported it.

A command is a process of its own, with streams, environment, folder and signals of its own; what
is saved is the second that Python takes to import it. What tests the start itself takes
`presagio` of tests.bot.command_line.
"""

import atexit
import gc
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tests.bot.command_line import ROOT, SECONDS, Done, presagio
from tests.isolation import forked_workers

# What commands import when they need it, and most tests make them need it.
_IMPORTED = (
    "anyio._backends._asyncio",
    "bot.__main__",
    "bot.app",
    "bot.jobs.wiring",
    "bot.slack.service",
    "bot.telegram.service",
    "engine.feeds.read",
    "engine.ingest.worker",
)


def forked(
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    cwd: Path | None = None,
) -> Done:
    """Run the command to its end, in this test's environment unless another is given."""
    if sys.platform == "win32":
        return presagio(*arguments, env=env, stdin=stdin, cwd=cwd)
    command = [arguments, dict(os.environ if env is None else env), str(cwd or Path.cwd())]
    return _server().run(json.dumps(command).encode(), stdin)


def end_server() -> None:
    """End the process from which commands were forked, if there is one."""
    if _server.cache_info().currsize:
        _server().close()
        _server.cache_clear()


class _ForkServer:
    """A process that forks into commands, for any number of threads at once."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from tests.bot.forking import serve; serve()"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd=ROOT,
                env={"PATH": os.environ["PATH"]},
            )

    def run(self, command: bytes, stdin: bytes) -> Done:
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, ours:
            with theirs:
                files = [reading, out.fileno(), err.fileno(), theirs.fileno()]
                socket.send_fds(self._control, [b"."], files)
            os.close(reading)
            ours.settimeout(SECONDS)
            ours.sendall(command + b"\n")
            with suppress(BrokenPipeError), open(writing, "wb") as given:  # noqa: PTH123
                given.write(stdin)
            code = int(ours.recv(16))
            out.seek(0)
            err.seek(0)
            return Done(code, out.read().decode(), err.read().decode())

    def close(self) -> None:
        self._control.close()
        self._process.wait(SECONDS)


@cache
def _server() -> _ForkServer:
    return _ForkServer()


def serve() -> None:
    """Import the command, then fork for each request on standard input until there is no more."""
    from bot.cli import main

    for name in _IMPORTED:
        import_module(name)
    main.load = cache(main.load)
    for entry in main.COMMANDS:
        main.load(entry)
    # The certificates of the world's authorities are read once, not by each command.
    ssl.create_default_context = cache(ssl.create_default_context)  # type: ignore[assignment]
    ssl.create_default_context()
    gc.freeze()  # a collection would copy what is shared
    control = socket.socket(fileno=os.dup(0))
    while True:
        request, files, _, _ = socket.recv_fds(control, 1, 4)
        if not request:
            return
        if not os.fork():
            control.close()
            _run(*files)
            return
        for file in files:
            os.close(file)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _run(stdin: int, stdout: int, stderr: int, requester: int) -> None:
    with socket.socket(fileno=requester) as answers:
        with answers.makefile("rb") as lines:
            arguments, environment, folder = json.loads(lines.readline())
        if pid := os.fork():
            for file in (stdin, stdout, stderr):
                os.close(file)
            _, status = os.waitpid(pid, 0)
            answers.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
    for number, file in enumerate((stdin, stdout, stderr)):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["presagio", *arguments]
    with forked_workers():
        _end(_run_main())


def _run_main() -> int:
    """Run the command; return its exit code as Python would give it."""
    try:
        import_module("bot.__main__").main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # as Python does it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """End the process without taking its modules apart, which costs more than most commands do."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
