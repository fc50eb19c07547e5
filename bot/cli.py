"""The `presagio` command: reads arguments, opens what a command needs, hands over."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.app import DEMO_CORPUS, App, open_database
from bot.cli_ask import ask
from bot.cli_corpora import corpora
from bot.cli_database import backup, database, restore
from bot.cli_embed import embed
from bot.cli_feeds import feeds
from bot.cli_glossary import glossary
from bot.cli_ingest import ingest
from bot.cli_log import log
from bot.cli_posts import posts, run_once
from bot.cli_search import QUERY, evaluate, find, search
from bot.cli_shared import (
    CorpusName,
    Json,
    now,
    settings_of,
    with_app,
)
from bot.cli_slack import slack
from bot.console.output import Output, discard_results, open_missing_streams
from bot.stopping import run
from engine.errors import PresagioError, UsageError

FAILED, WRONG_USAGE = 1, 2

app = typer.Typer(
    name="presagio",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run a command.

    Exit code 0 done, 1 failed with one line, 2 wrong usage, 128 + N ended by signal N.
    """
    open_missing_streams()
    try:
        app(prog_name="presagio")
    except PresagioError as error:
        Output.of_process().remark(" ".join(f"presagio: {error}".splitlines()))
        sys.exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    except OSError as error:  # any other was mapped where it came in
        discard_results()
        where = error.filename or "The output"
        Output.of_process().remark(f"presagio: {where} cannot be written: {error.strerror}.")
        sys.exit(FAILED)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        Output.of_process().line(f"presagio {version('presagio')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", help="Configuration file, in place of config.toml.")
    ] = None,
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """There is always a tweet: old posts that foresaw today's headlines.

    Example: presagio demo
    """
    context.obj = config


@app.command()
def demo(
    context: typer.Context,
    chat: Annotated[
        bool, typer.Option("--chat", help="Read headlines from the terminal until input ends.")
    ] = False,
) -> None:
    """Answer four headlines from a bundled corpus.

    Example: presagio demo --chat
    """
    from bot.console.converse import converse
    from bot.console.demo import demo as answer_bundled
    from bot.console.demo import load_demo

    async def answer(opened: App) -> None:
        output = Output.of_process()
        if chat:
            await load_demo(opened, output=output)
            await converse(opened, corpus=DEMO_CORPUS, chat_id=DEMO_CORPUS)
        else:
            await answer_bundled(opened, now=now(), output=output)

    with_app(settings_of(context), answer, set_up=True)


@app.command()
def chat(context: typer.Context, corpus: CorpusName = "") -> None:
    """Read headlines from the terminal until input ends.

    Example: presagio chat --corpus demo
    """
    from bot.console.converse import converse

    with_app(settings_of(context), lambda opened: converse(opened, corpus=corpus))


@app.command()
def serve(
    context: typer.Context,
    web: Annotated[
        bool, typer.Option("--web", help="Open the page and the API of [web] as well.")
    ] = False,
) -> None:
    """Answer in every chat that is set up, and on the web page, until told to end.

    Set TELEGRAM_BOT_TOKEN, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN, before; --web needs neither.

    Example: presagio serve --web
    """
    from bot.serve import serve as listen

    with_app(
        settings_of(context),
        lambda opened: listen(opened, now=now, said=Output.of_process().remark, web=web),
    )


@app.command()
def init(context: typer.Context) -> None:
    """Create or update the tables. May be run again at any time.

    Example: presagio init
    """
    settings = settings_of(context)
    output = Output.of_process()

    async def migrate() -> list[str]:
        async with open_database(settings, progress=output.remark) as database:
            applied = await database.migrate()
            if settings.embeddings.backend == "remote":
                from bot.console.embed import prepare_model

                await prepare_model(settings, database, output=output)
            return applied

    done = run(migrate())
    for name in done:
        output.line(f"applied migration {name}")
    output.line("The database is ready." if done else "The database was ready; nothing to do.")


app.command()(ingest)
app.command()(search)
app.command(context_settings=QUERY)(find)
app.command()(ask)
app.add_typer(corpora, name="corpora")
app.add_typer(glossary, name="glossary")
app.command()(embed)
app.add_typer(feeds, name="feeds")
app.command("posts")(posts)
app.command("run-once")(run_once)
app.command()(log)
app.command("eval")(evaluate)
app.add_typer(slack, name="slack")
app.command()(backup)
app.command()(restore)
app.add_typer(database, name="database")


@app.command()
def doctor(context: typer.Context, json: Json = False) -> None:
    """Check settings, database, model endpoint, chat platforms, feeds, jobs and what is owed.

    Example: presagio doctor
    """
    from bot.console.doctor import doctor as examine

    if not run(examine(settings_of(context), json=json, output=Output.of_process(), now=now())):
        sys.exit(FAILED)
