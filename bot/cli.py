"""The `presagio` command: reads arguments, opens what a command needs, hands over."""

import os
import re
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bot.app import DEMO_CORPUS, App, open_app, open_database
from bot.console.output import Output
from bot.dates import read_date
from bot.logs import configure_logging
from bot.settings import Settings, load_settings
from bot.stopping import run
from engine.errors import PresagioError, UsageError
from engine.types import Kind

_Result = TypeVar("_Result")

FAILED, WRONG_USAGE = 1, 2

_UNDECODED = re.compile("[\ud800-\udfff]")

app = typer.Typer(
    name="presagio",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
corpora = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, change and drop corpora.\n\nExample: presagio corpora list",
)
app.add_typer(corpora, name="corpora")
slack = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Set up Slack.\n\nExample: presagio slack manifest",
)
app.add_typer(slack, name="slack")


def _text(value: str | None) -> str | None:
    """Replace the bytes of an argument that are no UTF-8: no database and no JSON takes them."""
    return _UNDECODED.sub("\ufffd", value) if value else value


def _account(value: str | None) -> str | None:
    """Take the name of an account with or without its @."""
    return (_text(value) or "").removeprefix("@") if value else value


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        Output.of_process().line(f"presagio {version('presagio')}")
        raise typer.Exit


Name = Annotated[str, typer.Argument(help="Name of the corpus.", callback=_text)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
CorpusName = Annotated[
    str,
    typer.Option(
        "--corpus", help="Corpus; default: the configured one, else the only one.", callback=_text
    ),
]
NoLlm = Annotated[bool, typer.Option("--no-llm", help="Do not ask a language model.")]


def main() -> None:
    """Run a command.

    Exit code 0 done, 1 failed with one line, 2 wrong usage, 128 + N ended by signal N.
    """
    _open_missing_streams()
    try:
        app(prog_name="presagio")
    except PresagioError as error:
        Output.of_process().remark(f"presagio: {error}")
        sys.exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    except OSError as error:  # any other was mapped where it came in
        _discard_output()
        Output.of_process().remark(f"presagio: The output cannot be written: {error.strerror}.")
        sys.exit(FAILED)


def _open_missing_streams() -> None:
    """Stand in for what the caller closed, before a socket or a file takes its place."""
    nothing = Path(os.devnull)
    sys.stdin = sys.stdin or nothing.open()
    sys.stdout = sys.stdout or nothing.open("w")
    sys.stderr = sys.stderr or nothing.open("w")


def _discard_output() -> None:
    """Let what is still in the buffer of standard output go nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
            await answer_bundled(opened, now=_now(), output=output)

    _with_app(_settings(context), answer, set_up=True)


@app.command()
def chat(context: typer.Context, corpus: CorpusName = "") -> None:
    """Read headlines from the terminal until input ends.

    Example: presagio chat --corpus demo
    """
    from bot.console.converse import converse

    _with_app(_settings(context), lambda opened: converse(opened, corpus=corpus))


@app.command()
def serve(context: typer.Context) -> None:
    """Answer in every chat that is set up, until told to end.

    Set TELEGRAM_BOT_TOKEN, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN, and run: presagio serve
    """
    from bot.serve import serve as listen

    _with_app(
        _settings(context), lambda opened: listen(opened, now=_now, said=Output.of_process().remark)
    )


@slack.command("manifest")
def slack_manifest(
    request_url: Annotated[
        str, typer.Option("--request-url", help="Public address, for events over HTTP.")
    ] = "",
) -> None:
    """Print the manifest that makes a Slack app.

    Example: presagio slack manifest
    """
    import json

    from bot.commands import standard_commands
    from bot.slack.manifest import manifest

    written = manifest(standard_commands().commands, request_url=request_url)
    Output.of_process().line(json.dumps(written, indent=2, ensure_ascii=False))


@app.command()
def init(context: typer.Context) -> None:
    """Create or update the tables. May be run again at any time.

    Example: presagio init
    """
    settings = _settings(context)
    output = Output.of_process()

    async def migrate() -> list[str]:
        async with open_database(settings, progress=output.remark) as database:
            return await database.migrate()

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
        str, typer.Option("--corpus", help="Corpus to fill [tweets].", callback=_text)
    ] = "",
    kind: Annotated[Kind | None, typer.Option("--kind", help="What it holds [tweets].")] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            help="Of texts that name none: english, spanish, simple...",
            callback=_text,
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str, typer.Option("--format", help="Insist on a format; a wrong name lists them.")
    ] = "auto",
    author: Annotated[
        str | None,
        typer.Option("--author", help="Account of records that name none.", callback=_account),
    ] = None,
    json: Json = False,
) -> None:
    """Store an archive. A second run stores only what changed.

    Example: presagio ingest twitter-2024.zip --corpus me --author myhandle
    """
    from bot.console.ingest import IngestOptions, open_sources
    from bot.console.ingest import ingest as load

    settings = _settings(context)

    chosen = IngestOptions(
        corpus=corpus, kind=kind, language=language, format=format, author=author, json=json
    )
    output = Output.of_process()
    # Opened first: a file that is not there needs no database.
    with open_sources(files, chosen) as sources:
        _with_app(settings, lambda opened: load(opened, sources, chosen, output=output))


@app.command()
def search(
    context: typer.Context,
    headline: Annotated[str, typer.Argument(help="The headline, in quotes.", callback=_text)],
    corpus: CorpusName = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, max=1000, help="Hits [3].")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only older texts.")] = None,
    after: Annotated[str | None, typer.Option("--after", help="Only from this date on.")] = None,
    date: Annotated[str | None, typer.Option("--date", help="Date of the headline.")] = None,
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
        json=json,
    )
    _with_app(
        _settings(context),
        lambda opened: answer(opened, headline, chosen, now=_now(), output=Output.of_process()),
    )


@corpora.command("list")
def corpora_list(context: typer.Context, json: Json = False) -> None:
    """List all corpora.

    Example: presagio corpora list --json
    """
    from bot.console.corpora import list_corpora

    _with_app(
        _settings(context),
        lambda opened: list_corpora(opened, json=json, output=Output.of_process()),
    )


@corpora.command("show")
def corpora_show(context: typer.Context, name: Name, json: Json = False) -> None:
    """Show one corpus.

    Example: presagio corpora show demo
    """
    from bot.console.corpora import show_corpus

    _with_app(
        _settings(context),
        lambda opened: show_corpus(opened, name, json=json, output=Output.of_process()),
    )


@corpora.command("set")
def corpora_set(
    context: typer.Context,
    name: Name,
    author: Annotated[
        str | None,
        typer.Option("--author", help="Account of texts that name none.", callback=_account),
    ] = None,
    url_template: Annotated[
        str | None,
        typer.Option(
            "--url-template",
            help="Link of a text; {author} and {id} are filled in.",
            callback=_text,
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

    _with_app(
        _settings(context),
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
        _confirm(f"Remove {name!r} and all it holds?")
    _with_app(
        _settings(context),
        lambda opened: drop_corpus(opened, name, json=json, output=Output.of_process()),
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
        json=json,
    )
    _with_app(
        _settings(context),
        lambda opened: evaluation(opened, chosen, now=_now(), output=Output.of_process()),
    )


@app.command()
def doctor(context: typer.Context, json: Json = False) -> None:
    """Check the settings, the database and the model endpoint.

    Example: presagio doctor
    """
    from bot.console.doctor import doctor as examine

    if not run(examine(_settings(context), json=json, output=Output.of_process())):
        sys.exit(FAILED)


def _settings(context: typer.Context) -> Settings:
    settings = load_settings(context.obj)
    configure_logging(settings.logging)
    return settings


def _with_app(
    settings: Settings, work: Callable[[App], Awaitable[_Result]], *, set_up: bool = False
) -> _Result:
    """Open everything, run a command on it, and close everything."""

    async def opened() -> _Result:
        async with open_app(
            settings, progress=Output.of_process().remark, set_up=set_up
        ) as application:
            return await work(application)

    return run(opened())


def _confirm(question: str) -> None:
    """Return when the person says yes. Raises UsageError, PresagioError."""
    if not sys.stdin.isatty():
        raise UsageError("Nothing was changed: nobody can be asked here.", fix="Pass --yes.")
    # Not typer.confirm: it writes a blank to standard output, where results go.
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise PresagioError("Nothing was changed.")


def _now() -> datetime:
    return datetime.now(UTC)
