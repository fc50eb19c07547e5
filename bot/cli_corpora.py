"""`presagio corpora`: its arguments."""

from typing import Annotated

import typer

from bot.cli_shared import Json, Name, account, confirm, settings_of, text, with_app
from bot.console.output import Output
from engine.errors import UsageError

corpora = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, read, change and drop corpora.\n\nExample: presagio corpora list",
)


@corpora.command("list")
def corpora_list(context: typer.Context, json: Json = False) -> None:
    """List all corpora.

    Example: presagio corpora list --json
    """
    from bot.console.corpora import list_corpora

    with_app(
        settings_of(context),
        lambda opened: list_corpora(opened, json=json, output=Output.of_process()),
    )


@corpora.command("show")
def corpora_show(context: typer.Context, name: Name, json: Json = False) -> None:
    """Show one corpus.

    Example: presagio corpora show demo
    """
    from bot.console.corpora import show_corpus

    with_app(
        settings_of(context),
        lambda opened: show_corpus(opened, name, json=json, output=Output.of_process()),
    )


@corpora.command("set")
def corpora_set(
    context: typer.Context,
    name: Name,
    author: Annotated[
        str | None,
        typer.Option("--author", help="Account of texts that name none.", callback=account),
    ] = None,
    url_template: Annotated[
        str | None,
        typer.Option(
            "--url-template",
            help="Link of a text; {author} and {id} are filled in.",
            callback=text,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Change a corpus.

    Example: presagio corpora set me --url-template "https://example.org/{id}"
    """
    from bot.console.corpora import set_corpus

    if author is None and url_template is None:
        raise UsageError("There is nothing to change.", fix="Give --author or --url-template.")

    with_app(
        settings_of(context),
        lambda opened: set_corpus(
            opened,
            name,
            author=author,
            url_template=url_template,
            json=json,
            output=Output.of_process(),
        ),
    )


@corpora.command("drop")
def corpora_drop(
    context: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove a corpus and its documents, after asking.

    Example: presagio corpora drop demo --yes
    """
    from bot.console.corpora import drop_corpus

    if not yes:
        confirm(f"Remove {name!r} and all it holds?")
    with_app(
        settings_of(context),
        lambda opened: drop_corpus(opened, name, json=json, output=Output.of_process()),
    )


@corpora.command("threads")
def corpora_threads(
    context: typer.Context,
    name: Name,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="Threads.")] = 20,
    json: Json = False,
) -> None:
    """List the conversations, channels or folders of a corpus, the latest first.

    Example: presagio corpora threads personal
    """
    from bot.console.threads import list_threads

    with_app(
        settings_of(context),
        lambda opened: list_threads(
            opened, name, limit=limit, json=json, output=Output.of_process()
        ),
    )


@corpora.command("thread")
def corpora_thread(
    context: typer.Context,
    name: Name,
    thread: Annotated[str, typer.Argument(help="The thread, as listed.", callback=text)],
    limit: Annotated[int, typer.Option("--limit", min=1, max=1_000_000, help="Texts.")] = 1_000,
    json: Json = False,
) -> None:
    """Show one thread in order.

    Example: presagio corpora thread personal general
    """
    from bot.console.threads import show_thread

    with_app(
        settings_of(context),
        lambda opened: show_thread(
            opened, name, thread, limit=limit, json=json, output=Output.of_process()
        ),
    )
