"""What commands share: common arguments, running with an open App, and folders of data."""

import asyncio
import logging
import os
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from bot.cli.main import VERBOSE
from bot.console.screen import Output
from bot.signals import exit_while_asking, run_until_signal
from engine.errors import InputError, PresagioError, UsageError
from engine.search import Mode

if TYPE_CHECKING:  # not needed to print help
    from bot.app import App
    from bot.settings import Settings

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Work = TypeVar("_Work", bound=Callable[..., Coroutine[Any, Any, object]])

_COMPLETION_SECONDS = 3.0  # nobody waits longer at a shell prompt
_UNDECODED = re.compile("[\ud800-\udfff]")
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print a table for spreadsheets.")]
SearchMode = Annotated[
    Mode | None,
    typer.Option("--mode", help="By words, by meaning too, re-ordered by it, or by it alone."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
NoWeb = Annotated[bool, typer.Option("--no-web", help="Ask the corpora alone.")]
NoLlm = Annotated[bool, typer.Option("--no-llm", help="Do not ask a language model.")]
_GIVEN = frozenset({"app", "settings", "now", "output"})  # parameters that nobody types


def parse_string(value: str | None) -> str | None:
    """Replace bytes of an argument that are not UTF-8, as the database and JSON reject them."""
    return _UNDECODED.sub("\ufffd", value) if value else value


def parse_texts(values: list[str] | None) -> list[str]:
    """Replace bytes that are not UTF-8 in each of several arguments."""
    return [parse_string(value) or "" for value in values or ()]


def parse_day(value: str) -> datetime:
    """Return the moment that a date names. Raises UsageError."""
    from bot.replies.dates import read_date

    return read_date(value)


def parse_account(value: str | None) -> str | None:
    """Return the name of an account without its @."""
    return (parse_string(value) or "").removeprefix("@") if value else value


def corpus_names(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a corpus. Without a database that answers soon, nothing is offered.

    A file of names would be faster, and wrong after a corpus was dropped on another machine.
    """
    from bot.app import open_with_server
    from bot.settings import load_settings
    from db.corpus.corpora import Corpora

    async def list_names(settings: "Settings") -> list[str]:
        async with (
            asyncio.timeout(_COMPLETION_SECONDS),
            open_with_server(settings, lambda _: None) as (database, _),
        ):
            return [corpus.name for corpus in await Corpora(database).list()]

    # Whatever a library has to say would stand between what is being typed.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        settings = load_settings(context.find_root().params.get("config"))
        embedded = not settings.database.url.get_secret_value()
        if embedded and not (settings.data_dir / "postgres").exists():
            return []
        names = run_until_signal(list_names(settings))
    except (PresagioError, TimeoutError):
        return []
    return [name for name in names if name.startswith(incomplete)]


# Arguments of text, and the corpus that a command is about.
TextOption: Any = partial(typer.Option, callback=parse_string)
TextArgument: Any = partial(typer.Argument, callback=parse_string)
CorpusOption: Any = partial(TextOption, "--corpus", "-c", autocompletion=corpus_names)
Name = Annotated[str, TextArgument(help="Name of the corpus.", autocompletion=corpus_names)]
CorpusName = Annotated[
    str, CorpusOption(help="Corpus; default: the configured one, else the only one.")
]
CorpusNames = Annotated[
    list[str] | None,
    CorpusOption(
        metavar="<str>",
        help="Corpus; may be given several times. Default: the configured one, else the only one.",
        callback=parse_texts,
    ),
]
_DATE: Any = {"parser": parse_day, "metavar": "<str>"}
After = Annotated[
    datetime | None,
    typer.Option("--after", help="Only from this date on: 2015, 2015-03, 2015-03-02.", **_DATE),
]
Before = Annotated[
    datetime | None, typer.Option("--before", help="Only texts from before this date.", **_DATE)
]
HeadlineDate = Annotated[
    datetime | None,
    typer.Option("--date", help="Date of the headline, such as 2021-03-28.", **_DATE),
]


def settings_of(context: typer.Context, *, serves: bool = False) -> "Settings":
    """Load the settings, and configure logging. Raises SettingsError.

    `serves` tells that the command works for others than who types it: then a file of the working
    folder that is another user's is refused. To which addresses that file sends keys is told.
    """
    from bot.console.logs import configure_logging
    from bot.settings import load_settings
    from bot.settings.sources import locate_in_working_folder, require_own_file, tell_new_endpoints

    settings = load_settings(context.obj)
    if path := locate_in_working_folder(context.obj, os.environ):
        if serves:
            require_own_file(path)
        if sentence := tell_new_endpoints(path):
            Output.of_process().remark(sentence)
    configure_logging(settings.logging, verbose=context.meta.get(VERBOSE, 0), serves=serves)
    return settings


def with_app(
    settings: "Settings", work: "Callable[[App], Awaitable[_Result]]", *, migrate: bool = False
) -> _Result:
    """Open the App, run `work` with it, and close it."""
    from bot.app import open_app

    async def run_opened() -> _Result:
        async with open_app(
            settings, progress=Output.of_process().remark, migrate=migrate
        ) as application:
            return await work(application)

    return run_until_signal(run_opened())


def run_in_app(
    context: typer.Context,
    work: "Callable[Concatenate[App, _Arguments], Awaitable[_Result]]",
    *arguments: _Arguments.args,
    **options: _Arguments.kwargs,
) -> _Result:
    """Run `work` with the App of the settings and the arguments."""
    return with_app(settings_of(context), lambda opened: work(opened, *arguments, **options))


def command_of(
    work: Callable[..., Coroutine[Any, Any, object]], before: Callable[..., None] | None = None
) -> Callable[..., None]:
    """Return the command that runs `work`, whose help is the docstring of `work`.

    Its arguments are the parameters of `work`, but for the App or the settings, the time and the
    output; those of `options`, a dataclass, are its fields. `before` looks at arguments, some of
    which may be its own, before anything is opened.
    """
    of_work = {parameter.name: parameter for parameter in _list_arguments(work)}
    of_before = dict(signature(before).parameters) if before else {}

    def command(context: typer.Context, **arguments: object) -> None:
        if before:
            before(**{name: arguments[name] for name in of_before})
        given = {"now": read_clock(), "output": Output.of_process()}
        passed = _gather_arguments(work, arguments | given)
        if "app" in of_work:
            run_in_app(context, work, **passed)
        else:
            run_until_signal(work(settings_of(context), **passed))

    options = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for name, parameter in (of_before | of_work).items()
        if name not in _GIVEN
    ]
    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    return _describe_command(command, [context, *options], work.__doc__)


def app_command(
    commands: typer.Typer, name: str, before: Callable[..., None] | None = None
) -> Callable[[_Work], _Work]:
    """Make a command of a group from each function that it decorates, which stays as it is."""

    def add(work: _Work) -> _Work:
        commands.command(name)(command_of(work, before))
        return work

    return add


def spread_options(work: Callable[..., None]) -> Callable[..., None]:
    """Give a command each field of its `options`, a dataclass, as an argument."""

    def command(**arguments: object) -> None:
        work(**_gather_arguments(work, arguments))

    return _describe_command(command, _list_arguments(work), work.__doc__)


def _describe_command(
    command: Callable[..., None], arguments: Sequence[Parameter], summary: str | None
) -> Callable[..., None]:
    """Let typer read the arguments and the help of a command."""
    command.__signature__ = Signature(arguments)  # type: ignore[attr-defined]  # of functions
    command.__annotations__ = {}
    command.__doc__ = summary
    return command


def _list_arguments(work: Callable[..., object]) -> list[Parameter]:
    """Return the parameters of a function, with the fields of `options` in their place.

    A field whose metadata has `options` is a mapping, and each of these is an argument.
    """
    arguments = []
    for parameter in signature(work).parameters.values():
        if parameter.name != "options":
            arguments.append(parameter)
            continue
        for member in fields(parameter.annotation):
            several = member.metadata.get("options")
            default = member.default if several is None else ""
            arguments += [
                Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
                for name, annotation in (several or {member.name: member.type}).items()
            ]
    return arguments


def _gather_arguments(
    work: Callable[..., object], arguments: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of a function from what was typed, its `options` as an object."""
    parameters = signature(work).parameters
    gathered = {name: value for name, value in arguments.items() if name in parameters}
    if "options" in parameters:
        options = parameters["options"].annotation
        values: dict[str, object] = {}
        for member in fields(options):
            several = member.metadata.get("options")
            values[member.name] = (
                {name: arguments[name] for name in several} if several else arguments[member.name]
            )
        gathered["options"] = options(**values)
    return gathered


def read_input(file: str, maximum: int = -1) -> bytes:
    """Return what a file holds, or standard input for "-", at most so many bytes.

    Raises InputError.
    """
    try:
        if file == "-":
            return sys.stdin.buffer.read(maximum)
        with Path(file).open("rb") as opened:
            return opened.read(maximum)
    except OSError as exc:
        raise InputError(f"{file} cannot be read: {exc.strerror}.") from exc


def confirm(question: str) -> None:
    """Ask for confirmation. Raises PresagioError if denied, UsageError without a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("Nothing was changed: nobody can be asked here.", fix="Pass --yes.")
    # Not typer.confirm, which writes a space to standard output, where results go.
    if ask_line(f"{question} [y/N] ").lower() not in {"y", "yes"}:
        raise PresagioError("Nothing was changed.")


def ask_line(question: str) -> str:
    """Return what somebody at the terminal answers; Ctrl-C ends the command at once."""
    with exit_while_asking():  # before the question is seen
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline().strip()


def read_clock() -> datetime:
    """Return the current time, which commands pass on."""
    return datetime.now(UTC)


def make_folder(folder: Path, *, within: Path) -> None:
    """Make a folder below the data folder, which it shares its owner with, for that owner alone."""
    missing = [absent for absent in (folder, *folder.parents) if absent.is_relative_to(within)]
    for absent in reversed(missing):
        if not absent.exists():
            absent.mkdir(mode=0o700, parents=True, exist_ok=True)
            give_to_owner(absent, of=within)


def give_to_owner(path: Path, *, of: Path) -> None:
    """Give what root wrote to the owner of the data folder.

    Otherwise a command of root would keep the account that serves from reading and writing there.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        owner = of.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
