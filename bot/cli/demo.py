"""`presagio demo`: the bundled corpus answers its headlines."""

from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import orjson
import typer

from bot.app import App
from bot.cli.chat import converse
from bot.cli.ingest_actions import IngestOptions, ingest_files, open_sources
from bot.cli.shared import now, settings_of, with_app
from bot.console.output import Output
from bot.i18n.words import DEFAULT, words_for
from bot.replies.dates import read_date
from bot.replies.prophecy import prophecy_reply
from engine.corpora import DEMO_CORPUS
from engine.prophecy.headline import read_headline
from engine.types import SearchRequest

_LANGUAGE = "english"  # for texts without a language; every bundled tweet has one


def bundled(name: str) -> Path:
    """Return the path of a bundled file, installed or in a checkout."""
    package = Path(str(files("bot")))
    installed = package / "examples" / name
    return installed if installed.exists() else package.parent / "examples" / name


async def load_demo(app: App, *, output: Output) -> None:
    """Make sure that the bundled corpus is stored."""
    output.remark("Loading the bundled corpus, an invented account.")
    options = IngestOptions(corpus=DEMO_CORPUS, language=_LANGUAGE)
    # The counts are not a result of the demo, so they are written to stderr.
    remarks = Output(output.remarks, output.remarks)
    async with open_sources([str(bundled("demo.jsonl"))], options, app.settings.ingest) as sources:
        await ingest_files(app, sources, options, output=remarks)
    await app.corpora.change(
        DEMO_CORPUS,
        url_template="https://example.org/{author}/{id}",
        description="The captain of a river ferry, who writes in English and in Spanish.",
    )


async def answer_bundled(app: App, *, now: datetime, output: Output) -> None:
    """Load the bundled corpus and answer the bundled headlines."""
    await load_demo(app, output=output)
    output.line()
    words = words_for(DEFAULT, operator=True)
    for row in _headlines():
        request = SearchRequest(
            headline=read_headline(row["headline"], date=read_date(row["date"])),
            limit=app.settings.search.limit,
            now=now,
        )
        prophecy = await app.prophesy(request, corpus=DEMO_CORPUS)
        output.show(prophecy_reply(prophecy, prophecy.hits, now=now, words=words))
    output.remark("Next: presagio demo --chat, or your own archive: presagio ingest FILE")


def _headlines() -> list[Mapping[str, str]]:
    lines = bundled("headlines.jsonl").read_text(encoding="utf-8").splitlines()
    return [orjson.loads(line) for line in lines]


def command(
    context: typer.Context,
    chat: Annotated[
        bool, typer.Option("--chat", help="Read headlines from the terminal until input ends.")
    ] = False,
) -> None:
    """Answer four headlines from a bundled corpus.

    Example: presagio demo --chat
    """

    async def answer(opened: App) -> None:
        output = Output.of_process()
        if chat:
            await load_demo(opened, output=output)
            await converse(opened, corpus=DEMO_CORPUS, chat_id=DEMO_CORPUS)
        else:
            await answer_bundled(opened, now=now(), output=output)

    with_app(settings_of(context), answer, set_up=True)
