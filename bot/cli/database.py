"""`presagio init`, `backup`, `restore` and `database run`: the tables and what they hold."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from bot.cli.shared import Json, command_of, settings_of
from bot.console.screen import Output, progress_bar
from bot.database import bring_up_to_date, open_database, open_url, open_with_server
from bot.settings import Settings
from db.backup.backup import (
    dump_tables,
    holds_something,
    is_set_up,
    others_work,
    require_known_tables,
)
from db.backup.programs import build_environment
from db.backup.restore import check_backup, restore_into, unknown_languages
from db.corpus.corpora import Corpora, add_languages
from db.embedded.server import EmbeddedServer
from db.pool import Database
from db.search.embeddings import EXACT_UP_TO, Embeddings
from engine.errors import InputError, StorageError, StorageInterrupted, UsageError
from engine.values import Corpus

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
        done = await bring_up_to_date(settings, database, server, output.remark)
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
        try:
            code = _run_program(command, within)
        except FileNotFoundError:
            output.remark(f"presagio: There is no program {command[0]}.")
            return _NOT_FOUND
        except OSError as error:
            output.remark(f"presagio: {command[0]} cannot be run: {error.strerror}.")
            return _NOT_RUNNABLE
    return code if code >= 0 else _SIGNALLED - code


def _run_program(command: Sequence[str], within: dict[str, str]) -> int:
    """Run a program with this process's input and output, and return its exit status."""
    # Looked up in the PATH it will run with, in which PostgreSQL's programs come first.
    path = shutil.which(command[0], path=within["PATH"])
    if path is None:
        raise FileNotFoundError(command[0])
    with _forward_signals() as heard:
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
def _forward_signals() -> Iterator[_Heard]:
    """Let the program decide how to react to signals; it does not inherit our handlers.

    Ctrl-C is ignored here, since the terminal sends it to both processes and psql survives it;
    other signals are forwarded.
    """
    heard = _Heard()
    handlers = {"SIGINT": _ignore_interrupt, "SIGTERM": heard.hear, "SIGHUP": heard.hear}
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


def _ignore_interrupt(number: int, _: FrameType | None) -> None:
    """Ignore Ctrl-C, which the program receives too."""


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
    async with open_url(settings, progress=output.remark) as url:
        async with open_database(settings, progress=output.remark) as database:
            _require_direct(database)
            if not await is_set_up(database):
                raise InputError("There is nothing to back up: the database is not set up.")
        with _show_progress_bar(output, "backup") as progress:
            size = await dump_tables(url, file, progress=progress)
    if json:
        output.json({"file": str(file), "bytes": size})
    else:
        output.line(f"Wrote {file} ({size / _MEGABYTE:,.1f} MB).")


backup = command_of(back_up)


async def bring_back(
    settings: Settings,
    file: Annotated[
        Path,
        typer.Argument(
            help="File that presagio backup has written.",
            exists=True,
            dir_okay=False,
            readable=True,
        ),
    ],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Give up the corpora and chats that are there.")
    ] = False,
    known_only: Annotated[
        bool,
        typer.Option(
            "--known-only", help="Leave out what is not presagio's, in place of refusing."
        ),
    ] = False,
    json: Json = False,
    output: Output,
) -> None:
    """Load a backup into an empty database.

    With --replace it takes the place of what is there. Only rows are taken from it.

    All of it goes in, or nothing is changed. Nobody else may work in the database meanwhile.

    Example: presagio restore presagio.dump
    """
    async with open_url(settings, progress=output.remark) as url:
        found = await check_backup(file)
        await _check_target(settings, replace=replace, output=output)
        with _show_progress_bar(output, "restore") as progress:
            placed = await restore_into(url, found, progress=progress, known_only=known_only)
        async with open_database(settings, progress=output.remark) as database:
            unknown = await unknown_languages(database)
            corpora = await Corpora(database).list()
            await _settle_vectors(database, corpora)
    for name in placed:
        output.remark(
            f"{name} was on a worker and is in this database now. To place it again: presagio"
            f" corpora place {name} --on worker"
        )
    for language in unknown:
        output.remark(f"This server does not know {language}: texts in it are not found.")
    _report_restore(file, corpora, json=json, output=output)


restore_backup = command_of(bring_back)


async def _settle_vectors(database: Database, corpora: Sequence[Corpus]) -> None:
    """Build the indexes of vectors that a backup does not bring."""
    embeddings = Embeddings(database)
    for model in await embeddings.models():
        for corpus in corpora:
            if await embeddings.count(corpus, model.id) > EXACT_UP_TO:
                await embeddings.settle(corpus, model.id)


async def _check_target(settings: Settings, *, replace: bool, output: Output) -> None:
    async with open_database(settings, progress=output.remark) as database:
        _require_direct(database)
        await require_known_tables(database)
        if await holds_something(database) and not replace:
            raise UsageError(
                "The database holds corpora or chats, which a restore would replace.",
                fix="Name an empty one (PRESAGIO_DATA_DIR or DATABASE_URL), or pass --replace.",
            )
        if await others_work(database):
            raise StorageInterrupted(
                "Other processes of presagio work in the database.",
                fix="End them first (presagio serve); nothing was changed.",
            )


def _require_direct(database: Database) -> None:
    """Raise StorageError behind a pooler.

    PostgreSQL's programs take the search path from their session, which others use after them.
    """
    if database.is_pooled:
        raise StorageError(
            "PostgreSQL's own programs cannot work through a pooler.",
            fix="Set DATABASE_URL to the address of the server itself for this command.",
        )


@contextmanager
def _show_progress_bar(output: Output, label: str) -> Iterator[Callable[[int], None]]:
    with progress_bar(output.remarks, label, None) as tell:
        yield lambda size: tell(size, f"{size / _MEGABYTE:,.0f} MB")


def _report_restore(file: Path, corpora: Sequence[Corpus], *, json: bool, output: Output) -> None:
    documents = sum(corpus.documents for corpus in corpora)
    if json:
        output.json({"file": str(file), "corpora": len(corpora), "documents": documents})
        return
    named = "corpus" if len(corpora) == 1 else "corpora"
    output.line(f"Restored {len(corpora):,} {named} with {documents:,} documents from {file}.")
