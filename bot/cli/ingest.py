"""`presagio ingest`: its arguments."""

from typing import Annotated

import typer

from bot.cli.shared import Json, account, corpus_names, settings_of, text
from bot.console.output import Output
from bot.signals import run_until_signal
from engine.types import Kind

# Repeated here because importing the readers would slow down every --help.
FORMATS = (
    "x-archive, mastodon, bluesky, telegram, slack, whatsapp, chatgpt, linkedin, facebook, "
    "instagram, trump-archive-json, api, jsonl, trump-archive-csv, csv, feed, documents, markdown"
)


def command(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(help="Files, folders or zips of an export; - is standard input.")
    ],
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            "-c",
            autocompletion=corpus_names,
            help="Corpus to fill [named like its kind].",
            callback=text,
        ),
    ] = "",
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="What it holds [what the format is made for].")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            help="Of texts that name none: english, spanish, simple...",
            callback=text,
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str, typer.Option("--format", help=f"Insist on a format: {FORMATS}.")
    ] = "auto",
    author: Annotated[
        str | None,
        typer.Option(
            "--author",
            help="Account of records that name none; in chats, whose messages are mine.",
            callback=account,
        ),
    ] = None,
    description: Annotated[
        str | None,
        typer.Option(
            "--description",
            help="Whose texts these are and what about, for the model.",
            callback=text,
        ),
    ] = None,
    only_mine: Annotated[
        bool, typer.Option("--only-mine", help="Leave out what others wrote, reposts too.")
    ] = False,
    json: Json = False,
) -> None:
    """Store an archive: posts, chats or articles.

    A second run stores only what changed.

    The format is recognised by what the file holds.

    Example: presagio ingest twitter-2024.zip --corpus me --author myhandle
    """
    from bot.app import open_app
    from bot.cli.ingest_actions import IngestOptions, ingest_files, open_sources
    from bot.cli.voice import name_the_author, tell_what_next

    settings = settings_of(context)

    chosen = IngestOptions(
        corpus=corpus,
        kind=kind,
        language=language,
        format=format,
        author=author,
        description=description,
        only_mine=only_mine,
        json=json,
    )
    output = Output.of_process()

    async def store() -> None:
        # Opened first, so that a missing file is reported without opening the database.
        async with (
            open_sources(files, chosen, settings.ingest) as sources,
            open_app(settings, progress=output.remark) as opened,
        ):
            before = {known.name for known in await opened.corpora.list()}
            corpus = await ingest_files(opened, sources, chosen, output=output)
            await name_the_author(opened, corpus, output)
            if corpus not in before:
                tell_what_next(await opened.corpora.get(corpus), output)
            if settings.embeddings.at_ingest:
                from bot.cli.embed import embed_corpora

                await embed_corpora(
                    opened, corpus, json=json, output=output, leave_out_withheld=True
                )

    run_until_signal(store())
