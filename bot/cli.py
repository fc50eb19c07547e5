"""The `presagio` command: reads arguments, opens what a command needs, hands over."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.app import DEMO_CORPUS, App, open_database
from bot.cli_ask import ask
from bot.cli_corpora import corpora
from bot.cli_embed import embed
from bot.cli_feeds import feeds
from bot.cli_glossary import glossary
from bot.cli_log import log
from bot.cli_posts import posts, run_once
from bot.cli_shared import (
    CorpusName,
    Json,
    NoLlm,
    SearchMode,
    account,
    now,
    settings_of,
    text,
    with_app,
)
from bot.cli_slack import slack
from bot.console.output import Output, discard_results, open_missing_streams
from bot.dates import read_date
from bot.stopping import run
from engine.errors import PresagioError, UsageError
from engine.types import Kind

FAILED, WRONG_USAGE = 1, 2

# A query may begin with a minus: "-hillary" is no option -h.
_QUERY = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
# Written here as well: to ask the readers would load them for every --help.
FORMATS = (
    "x-archive, mastodon, bluesky, telegram, slack, whatsapp, chatgpt, linkedin, facebook, "
    "instagram, trump-archive-json, api, jsonl, trump-archive-csv, feed, markdown"
)

app = typer.Typer(
    name="presagio",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(corpora, name="corpora")
app.command()(embed)
app.command()(log)
app.add_typer(glossary, name="glossary")
app.add_typer(feeds, name="feeds")
app.add_typer(slack, name="slack")
app.command()(ask)
app.command("posts")(posts)
app.command("run-once")(run_once)


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


@app.command()
def ingest(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(help="Files, folders or zips of an export; - is standard input.")
    ],
    corpus: Annotated[
        str,
        typer.Option("--corpus", help="Corpus to fill [named like its kind].", callback=text),
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
    only_mine: Annotated[
        bool, typer.Option("--only-mine", help="Leave out what others wrote, reposts too.")
    ] = False,
    json: Json = False,
) -> None:
    """Store an archive: posts, chats or articles. A second run stores only what changed.

    The format is recognised by what the file holds.

    Example: presagio ingest twitter-2024.zip --corpus me --author myhandle
    """
    from bot.console.ingest import IngestOptions, open_sources
    from bot.console.ingest import ingest as load

    settings = settings_of(context)

    chosen = IngestOptions(
        corpus=corpus,
        kind=kind,
        language=language,
        format=format,
        author=author,
        only_mine=only_mine,
        json=json,
    )
    output = Output.of_process()

    async def store(opened: App) -> None:
        await load(opened, sources, chosen, output=output)
        if settings.embeddings.at_ingest:
            from bot.console.embed import embed_corpora

            await embed_corpora(opened, "", json=json, output=output)

    # Opened first: a file that is not there needs no database.
    with open_sources(files, chosen) as sources:
        with_app(settings, store)


@app.command()
def search(
    context: typer.Context,
    headline: Annotated[str, typer.Argument(help="The headline, in quotes.", callback=text)],
    corpus: CorpusName = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, max=1000, help="Hits [3].")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only older texts.")] = None,
    after: Annotated[str | None, typer.Option("--after", help="Only from this date on.")] = None,
    date: Annotated[str | None, typer.Option("--date", help="Date of the headline.")] = None,
    mode: SearchMode = None,
    no_llm: NoLlm = False,
    json: Json = False,
) -> None:
    """Find the old texts that foretold a headline.

    Example: presagio search "Container ship blocks canal" --date 2021-03-28
    """
    from bot.console.search import SearchOptions
    from bot.console.search import search as answer

    chosen = SearchOptions(
        corpus=corpus,
        limit=limit,
        before=read_date(before) if before is not None else None,
        after=read_date(after) if after is not None else None,
        date=read_date(date) if date is not None else None,
        judged=not no_llm,
        mode=mode,
        json=json,
    )
    with_app(
        settings_of(context),
        lambda opened: answer(opened, headline, chosen, now=now(), output=Output.of_process()),
    )


@app.command(context_settings=_QUERY)
def find(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The query, in single quotes.", callback=text)],
    corpus: CorpusName = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Hits.")] = 20,
    json: Json = False,
) -> None:
    """Find exactly the texts that meet a query, best first; without a word, newest first.

    word "exact phrase" a OR b -word; before: after: on: lang: from: in: platform: role: domain:
    thread: tag: #tag @mention min:100 has:media is:repost, each also with - before it. A day is
    one of UTC unless a zone follows: on:2015-03-02+01:00. docs/find.md tells all.

    Example: presagio find '"border wall" OR fence -street before:2015'
    """
    from bot.console.find import FindOptions
    from bot.console.find import find as answer

    chosen = FindOptions(corpus=corpus, limit=limit, json=json)
    with_app(
        settings_of(context),
        lambda opened: answer(opened, query, chosen, output=Output.of_process()),
    )


@app.command(name="eval")
def evaluate(
    context: typer.Context,
    corpus: Annotated[str, typer.Option("--corpus", help="Corpus to search.")],
    headlines: Annotated[
        Path, typer.Option("--headlines", help="JSON lines: qid, headline; kind, date if known.")
    ],
    qrels: Annotated[Path, typer.Option("--qrels", help="Lines of qid, id and label 0-6, tabbed.")],
    run_out: Annotated[
        Path | None, typer.Option("--run-out", help="Write what was found to this file.")
    ] = None,
    mode: SearchMode = None,
    no_llm: NoLlm = False,
    json: Json = False,
) -> None:
    """Measure answers against judged headlines.

    Example: presagio eval --corpus demo --headlines h.jsonl --qrels q.tsv
    """
    from bot.console.evaluation import EvaluationOptions, evaluation

    chosen = EvaluationOptions(
        corpus=corpus,
        headlines=headlines,
        qrels=qrels,
        run_out=run_out,
        judged=not no_llm,
        mode=mode,
        json=json,
    )
    with_app(
        settings_of(context),
        lambda opened: evaluation(opened, chosen, now=now(), output=Output.of_process()),
    )


@app.command()
def doctor(context: typer.Context, json: Json = False) -> None:
    """Check settings, database, model endpoint, chat platforms, feeds, jobs and what is owed.

    Example: presagio doctor
    """
    from bot.console.doctor import doctor as examine

    if not run(examine(settings_of(context), json=json, output=Output.of_process(), now=now())):
        sys.exit(FAILED)
