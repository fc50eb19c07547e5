"""Runs one of PostgreSQL's programs, or any other, with access to the database."""

import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType

from bot.console.output import Output
from bot.settings import Settings
from db.backup.programs import environment
from db.embedded.server import EmbeddedServer

_NOT_FOUND, _NOT_RUNNABLE, _SIGNALLED = 127, 126, 128  # exit codes, as in shells


def run_program(settings: Settings, command: Sequence[str], *, output: Output) -> int:
    """Run a program with access to the database and return its exit code, as a shell would.

    Raises storage errors.
    """
    with ExitStack() as stack:
        url = settings.database.url.get_secret_value()
        if not url:
            server = EmbeddedServer(settings.data_dir, progress=output.remark)
            url = stack.enter_context(server).url()
        within = environment(url)
        try:
            code = _outcome(command, within)
        except FileNotFoundError:
            output.remark(f"presagio: There is no program {command[0]}.")
            return _NOT_FOUND
        except OSError as error:
            output.remark(f"presagio: {command[0]} cannot be run: {error.strerror}.")
            return _NOT_RUNNABLE
    return code if code >= 0 else _SIGNALLED - code


def _outcome(command: Sequence[str], within: dict[str, str]) -> int:
    """Run a program with this process's input and output, and return its exit status."""
    # Looked up in the PATH it will run with, in which PostgreSQL's programs come first.
    path = shutil.which(command[0], path=within["PATH"])
    if path is None:
        raise FileNotFoundError(command[0])
    with _heard() as heard:
        process = subprocess.Popen([path, *command[1:]], env=within)  # noqa: S603 - what it is for
        heard.hand_on_to(process)
        return process.wait()


class _Heard:
    """Forwards signals to a program, and queues them until it has started."""

    def __init__(self) -> None:
        self._early: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    def hear(self, number: int, _: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)

    def hand_on_to(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        for number in self._early:
            process.send_signal(number)


@contextmanager
def _heard() -> Iterator[_Heard]:
    """Let the program decide how to react to signals; it does not inherit our handlers.

    Ctrl-C is ignored here, since the terminal sends it to both processes and psql survives it;
    other signals are forwarded.
    """
    heard = _Heard()
    handlers = {"SIGINT": _nothing, "SIGTERM": heard.hear, "SIGHUP": heard.hear}
    before = {
        number: signal.signal(number, handler)
        for name, handler in handlers.items()
        if (number := getattr(signal, name, None))
        and signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _nothing(number: int, _: FrameType | None) -> None:
    """Ignore Ctrl-C, which the program receives too."""
