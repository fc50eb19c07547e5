"""`presagio init`, `backup`, `restore` and `database run`: the tables and what they hold."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from bot.app import migrate_database, open_with_server
from bot.cli.shared import Json, command_of, settings_of
from bot.console.screen import Output, progress_bar
from bot.settings import Settings
from db.backup import back_up_database, build_environment, restore_database
from db.corpus.corpora import add_languages
from db.embedded.server import EmbeddedServer
from engine.errors import UsageError

_NOT_FOUND, _NOT_RUNNABLE, _SIGNALLED = 127, 126, 128  # exit codes, as in shells
commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Work in the database with PostgreSQL's programs.\n\nExample: presagio database run psql",
)
# Arguments after the program's name are passed to the program.
_PROGRAM = {"allow_interspersed_args": False}
_MEGABYTE = 1_000_000


async def migrate_tables(settings: Settings, *, output: Output) -> None:
    """Create or update the tables.

    May be run again at any time.

    Example: presagio init
    """
    async with open_with_server(settings, output.remark) as (database, server):
        done = await migrate_database(settings, database, server, output.remark)
        if added := await add_languages(database):
            output.remark(f"The server has learned: {', '.join(added)}.")
        if settings.embeddings.backend == "remote":
            from bot.cli.embed import prepare_model

            await prepare_model(settings, database, output=output)
    for name in done:
        output.line(f"applied migration {name}")
    output.line("The database is ready." if done else "The database was ready; nothing to do.")


init = command_of(migrate_tables)


def run_program(settings: Settings, command: Sequence[str], *, output: Output) -> int:
    """Run a program with access to the database and return its exit code, as a shell would.

    Raises storage errors.
    """
    with ExitStack() as stack:
        url = settings.database.url.get_secret_value()
        if not url:
            server = EmbeddedServer(settings.data_dir, progress=output.remark)
            url = stack.enter_context(server).url()
        within = build_environment(url)
        # Looked up in the PATH it will run with, in which PostgreSQL's programs come first.
        path = shutil.which(command[0], path=within["PATH"])
        if path is None:
            output.remark(f"presagio: There is no program {command[0]}.")
            return _NOT_FOUND
        try:
            with _forward_signals() as heard:
                process = subprocess.Popen([path, *command[1:]], env=within)  # noqa: S603 - what it is for
                heard.hand_on_to(process)
                code = process.wait()
        except OSError as error:
            output.remark(f"presagio: {command[0]} cannot be run: {error.strerror}.")
            return _NOT_RUNNABLE
    return code if code >= 0 else _SIGNALLED - code


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
def _forward_signals() -> Iterator[_Heard]:
    """Let the program decide how to react to signals; it does not inherit our handlers.

    Ctrl-C is ignored here, since the terminal sends it to both processes and psql survives it;
    other signals are forwarded.
    """
    heard = _Heard()
    handlers = {"SIGINT": lambda *_: None, "SIGTERM": heard.hear, "SIGHUP": heard.hear}
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


@commands.command("run", context_settings=_PROGRAM)
def database_run(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="The program and its arguments.", show_default=False)
    ] = None,
) -> None:
    """Run a program beside the database, and exit as it does.

    It finds the database in DATABASE_URL, and psql, pg_dump and pg_restore find it by themselves.

    Example: presagio database run psql -c "SELECT name FROM corpus"
    """
    if not command:
        raise UsageError("There is no program to run.", fix="Try: presagio database run psql")
    sys.exit(run_program(settings_of(context), command, output=Output.of_process()))


async def back_up(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="File to write; an older one is replaced.")],
    *,
    json: Json = False,
    output: Output,
) -> None:
    """Write the whole database to a file, while others work in it.

    Example: presagio backup presagio.dump
    """
    # A database set up by an older version is not migrated, as a backup precedes an upgrade.
    async with open_with_server(settings, output.remark) as (database, _):
        with progress_bar(output.remarks, "backup", None) as tell:
            await back_up_database(database, file, progress=partial(tell, 0))
    size = file.stat().st_size
    row = {"file": str(file), "bytes": size}
    output.tell(row, f"Wrote {file} ({size / _MEGABYTE:,.1f} MB).", json=json)


backup = command_of(back_up)


async def bring_back(
    settings: Settings,
    file: Annotated[
        Path,
        typer.Argument(help="File that presagio backup has written.", exists=True, dir_okay=False),
    ],
    *,
    json: Json = False,
    output: Output,
) -> None:
    """Load a backup into an empty database.

    All of it goes in, or nothing is changed. A backup is a program: restore only your own.

    Example: presagio restore presagio.dump
    """
    async with open_with_server(settings, output.remark) as (database, _):
        with progress_bar(output.remarks, "restore", None) as tell:
            stored = await restore_database(database, file, progress=partial(tell, 0))
    documents = sum(stored.values())
    corpora = f"{len(stored):,} {'corpus' if len(stored) == 1 else 'corpora'}"
    output.tell(
        {"file": str(file), "corpora": len(stored), "documents": documents},
        f"Restored {corpora} with {documents:,} documents from {file}.",
        json=json,
    )


restore_backup = command_of(bring_back)
