"""`presagio corpora`: the arguments of its commands."""

from typing import Annotated

import typer

from bot.cli.corpora_actions import drop_corpus, list_corpora, set_corpus, show_corpus
from bot.cli.shared import Json, Name, account, confirm, corpus_names, settings_of, text, with_app
from bot.cli.threads import threads
from bot.console.output import Output
from engine.errors import UsageError

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, read, change, reindex and drop corpora.\n\nExample: presagio corpora list",
)
commands.add_typer(threads)

Author = Annotated[
    str | None,
    typer.Option("--author", help="Account of texts that name none.", callback=account),
]


@commands.command("list")
def corpora_list(context: typer.Context, json: Json = False) -> None:
    """List all corpora.

    Example: presagio corpora list --json
    """
    with_app(
        settings_of(context),
        lambda opened: list_corpora(opened, json=json, output=Output.of_process()),
    )


@commands.command("show")
def corpora_show(context: typer.Context, name: Name, json: Json = False) -> None:
    """Show one corpus.

    Example: presagio corpora show demo
    """
    with_app(
        settings_of(context),
        lambda opened: show_corpus(opened, name, json=json, output=Output.of_process()),
    )


@commands.command("set")
def corpora_set(
    context: typer.Context,
    name: Name,
    author: Author = None,
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


@commands.command("describe")
def corpora_describe(
    context: typer.Context,
    name: Name,
    description: Annotated[
        str | None,
        typer.Option(
            "--description",
            help="Whose texts these are and what about, for the model; empty takes it away.",
            callback=text,
        ),
    ] = None,
    author: Author = None,
    display_name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help='How people know the author, for answers and pictures: "Ana Ruiz".',
            callback=text,
        ),
    ] = None,
    avatar: Annotated[
        str | None,
        typer.Option("--avatar", help="Picture of the author, PNG or JPEG; empty takes it away."),
    ] = None,
    json: Json = False,
) -> None:
    """Say whose texts a corpus holds, for people and for models.

    Example: presagio corpora describe me --author ana --name "Ana Ruiz"
    """
    if (description, author, display_name, avatar) == (None,) * 4:
        raise UsageError(
            "There is nothing to change.",
            fix="Give --author, --name, --avatar or --description.",
        )
    with_app(
        settings_of(context),
        lambda opened: set_corpus(
            opened,
            name,
            author=author,
            description=description,
            display_name=display_name,
            avatar=avatar,
            json=json,
            output=Output.of_process(),
        ),
    )


@commands.command("media")
def corpora_media(
    context: typer.Context,
    name: Name,
    folder: Annotated[str, typer.Argument(help="Folder of the files.", callback=text)],
    json: Json = False,
) -> None:
    """Bring the pictures and videos of an archive of X to the page.

    The folder is data/tweets_media of the unpacked archive. Files are copied beside the data.

    Example: presagio corpora media me archive/data/tweets_media
    """
    from bot.cli.media import bring_media

    with_app(
        settings_of(context),
        lambda opened: bring_media(opened, name, folder, json=json, output=Output.of_process()),
    )


@commands.command("drop")
def corpora_drop(
    context: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove a corpus and its documents, after asking.

    Example: presagio corpora drop demo --yes
    """
    if not yes:
        confirm(f"Remove {name!r} and all it holds?")
    with_app(
        settings_of(context),
        lambda opened: drop_corpus(opened, name, json=json, output=Output.of_process()),
    )


@commands.command("reindex")
def corpora_reindex(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the corpus; default: all.", callback=text, autocompletion=corpus_names
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Index stored texts again if the rules have changed since.

    Searches go on meanwhile. May be ended at any time; the next run goes on where it was.
    `presagio serve` does it by itself.

    Example: presagio corpora reindex me
    """
    from bot.cli.reindex import reindex_corpora

    with_app(
        settings_of(context),
        lambda opened: reindex_corpora(opened, name, json=json, output=Output.of_process()),
    )
