"""`presagio embed`: its arguments."""

from typing import Annotated

import typer

from bot.cli_shared import Json, settings_of, text, with_app
from bot.console.output import Output
from engine.errors import UsageError


def embed(
    context: typer.Context,
    corpus: Annotated[
        str, typer.Option("--corpus", help="One corpus; default: all.", callback=text)
    ] = "",
    status: Annotated[bool, typer.Option("--status", help="Show what there is.")] = False,
    clear: Annotated[
        str,
        typer.Option(
            "--clear", metavar="MODEL", help="Remove all vectors of a model.", callback=text
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Make the vectors that searches by meaning compare: those missing or of changed texts.

    May be ended at any time; the next run goes on where it was.

    Example: presagio embed --corpus me
    """
    from bot.console.embed import clear_model, embed_corpora, show_status

    if status and clear:
        raise UsageError("--status and --clear exclude each other.", fix="Pass one of them.")
    if clear and corpus:
        raise UsageError("--clear removes a model from all corpora.", fix="Leave --corpus out.")
    settings, output = settings_of(context), Output.of_process()
    if clear:
        with_app(settings, lambda opened: clear_model(opened, clear, json=json, output=output))
    elif status:
        with_app(settings, lambda opened: show_status(opened, corpus, json=json, output=output))
    else:
        with_app(settings, lambda opened: embed_corpora(opened, corpus, json=json, output=output))
