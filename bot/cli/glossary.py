"""`presagio glossary`: the arguments of its commands."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.glossary_file import FileFormat, format_of
from bot.cli.shared import CorpusName, Json, corpus_names, now, settings_of, text, with_app
from bot.console.output import Output
from engine.errors import InputError
from engine.glossary.groups import GroupStatus

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Words that mean the same, so a search for one finds the others."
    '\n\nExample: presagio glossary add Fed "Federal Reserve"',
)

_LARGEST = 2**31 - 1

Ids = Annotated[
    list[int], typer.Argument(help="Numbers of groups, as listed.", min=1, max=_LARGEST)
]
Scope = Annotated[
    str,
    typer.Option(
        "--corpus",
        "-c",
        autocompletion=corpus_names,
        help="For one corpus alone; default: for all.",
        callback=text,
    ),
]
Form = Annotated[
    FileFormat | None, typer.Option("--format", help="yaml or csv [by the name of the file].")
]


def _texts(values: list[str]) -> list[str]:
    return [text(value) or "" for value in values]


@commands.command("list")
def glossary_list(context: typer.Context, corpus: Scope = "", json: Json = False) -> None:
    """List all groups, those that wait too.

    Example: presagio glossary list --corpus me
    """
    _list(context, corpus, None, json=json)


@commands.command("pending")
def glossary_pending(context: typer.Context, corpus: Scope = "", json: Json = False) -> None:
    """List what waits for a decision.

    Example: presagio glossary pending
    """
    _list(context, corpus, GroupStatus.PENDING, json=json)


def _list(context: typer.Context, corpus: str, status: GroupStatus | None, *, json: bool) -> None:
    from bot.cli.glossary_actions import list_groups

    with_app(
        settings_of(context),
        lambda opened: list_groups(opened, corpus, status, json=json, output=Output.of_process()),
    )


@commands.command("approve")
def glossary_approve(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Let groups hold from now on, in every process.

    Example: presagio glossary approve 3 4
    """
    from bot.cli.glossary_actions import approve

    with_app(
        settings_of(context),
        lambda opened: approve(opened, ids, json=json, output=Output.of_process()),
    )


@commands.command("reject")
def glossary_reject(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Refuse what waits. No pair of it is ever suggested again.

    Example: presagio glossary reject 5
    """
    _reject(context, ids, json=json)


@commands.command("remove")
def glossary_remove(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Take groups out, as reject does. Only add brings them back.

    Example: presagio glossary remove 3
    """
    _reject(context, ids, json=json)


def _reject(context: typer.Context, ids: list[int], *, json: bool) -> None:
    from bot.cli.glossary_actions import reject

    with_app(
        settings_of(context),
        lambda opened: reject(opened, ids, now=now(), json=json, output=Output.of_process()),
    )


@commands.command("add")
def glossary_add(
    context: typer.Context,
    terms: Annotated[list[str], typer.Argument(help="Terms that mean the same.", callback=_texts)],
    corpus: Scope = "",
    json: Json = False,
) -> None:
    """Add a group that holds at once, whatever was rejected before.

    Example: presagio glossary add auth authentication "sign in"
    """
    from bot.cli.glossary_actions import add

    with_app(
        settings_of(context),
        lambda opened: add(opened, corpus, terms, now=now(), json=json, output=Output.of_process()),
    )


@commands.command("suggest")
def glossary_suggest(context: typer.Context, corpus: CorpusName = "", json: Json = False) -> None:
    """Ask the language model for pairs of a corpus' frequent terms.

    They wait for you to approve or reject them.

    Example: presagio glossary suggest --corpus me
    """
    from bot.cli.glossary_actions import suggest

    with_app(
        settings_of(context),
        lambda opened: suggest(opened, corpus, now=now(), json=json, output=Output.of_process()),
    )


@commands.command("export")
def glossary_export(context: typer.Context, format: Form = None) -> None:  # noqa: A002 - the option
    """Write the whole glossary to standard output.

    What was rejected is in it too.

    Example: presagio glossary export > glossary.yaml
    """
    from bot.cli.glossary_actions import export

    with_app(
        settings_of(context),
        lambda opened: export(opened, format or FileFormat.YAML, output=Output.of_process()),
    )


@commands.command("import")
def glossary_import(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="The file; - is standard input.")],
    format: Form = None,  # noqa: A002 - the option
    json: Json = False,
) -> None:
    """Read groups from a file. What was rejected before stays out.

    Example: presagio glossary import glossary.yaml
    """
    from bot.cli.glossary_actions import import_file

    form = format or format_of(file)
    content = _content(file)
    with_app(
        settings_of(context),
        lambda opened: import_file(
            opened, content, form, now=now(), json=json, output=Output.of_process()
        ),
    )


def _content(file: str) -> str:
    """Return the text of a file. Raises InputError."""
    try:
        read = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return read.decode("utf-8")
    except OSError as exc:
        raise InputError(f"{file} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"{file} is not UTF-8.") from exc
