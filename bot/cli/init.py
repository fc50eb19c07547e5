"""`presagio init`: creates or updates the tables."""

from typing import TYPE_CHECKING

import typer

from bot.cli.shared import settings_of
from bot.console.screen import Output
from bot.signals import run_until_signal

if TYPE_CHECKING:
    from bot.settings import Settings


def command(context: typer.Context) -> None:
    """Create or update the tables.

    May be run again at any time.

    Example: presagio init
    """
    output = Output.of_process()
    done = run_until_signal(migrate_tables(settings_of(context), output=output))
    for name in done:
        output.line(f"applied migration {name}")
    output.line("The database is ready." if done else "The database was ready; nothing to do.")


async def migrate_tables(settings: "Settings", *, output: Output) -> list[str]:
    """Migrate, prepare storage for a remote model's vectors, and return the migrations' names."""
    from bot.database import bring_up_to_date, open_with_server
    from db.corpus.corpora import add_languages

    async with open_with_server(settings, output.remark) as (database, server):
        applied = await bring_up_to_date(settings, database, server, output.remark)
        if added := await add_languages(database):
            output.remark(f"The server has learned: {', '.join(added)}.")
        if settings.embeddings.backend == "remote":
            from bot.cli.embed import prepare_model

            await prepare_model(settings, database, output=output)
        return applied
