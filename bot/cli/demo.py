"""`presagio demo`: the bundled corpus answers its headlines."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import orjson

from bot.app import DEMO_CORPUS, App
from bot.cli.ingest_actions import IngestOptions, ingest, open_sources
from bot.console.output import Output
from bot.i18n.words import DEFAULT, words_for
from bot.replies.dates import read_date
from bot.replies.prophecy import whole_reply

_LANGUAGE = "english"  # of what names no language; every bundled tweet names its own


def bundled(name: str) -> Path:
    """Return the path of a bundled file, installed or in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "examples" / name
    return installed if installed.exists() else package.parent / "examples" / name


async def load_demo(app: App, *, output: Output) -> None:
    """Make sure that the bundled corpus is stored."""
    output.remark("Loading the bundled corpus, an invented account.")
    options = IngestOptions(corpus=DEMO_CORPUS, language=_LANGUAGE)
    # Its counts are no result of the demo: they go where remarks go.
    remarks = Output(output.remarks, output.remarks)
    with open_sources([str(bundled("demo.jsonl"))], options) as sources:
        await ingest(app, sources, options, output=remarks)
    await app.corpora.change(DEMO_CORPUS, url_template="https://example.org/{author}/{id}")


async def demo(app: App, *, now: datetime, output: Output) -> None:
    """Load the bundled corpus and answer the bundled headlines."""
    await load_demo(app, output=output)
    output.line()
    words = words_for(DEFAULT)
    for row in _headlines():
        prophecy = await app.prophesy(
            row["headline"],
            corpus=DEMO_CORPUS,
            limit=app.settings.search.limit,
            now=now,
            date=read_date(row["date"]),
        )
        output.show(whole_reply(prophecy, now=now, words=words))
    output.remark("Next: presagio demo --chat, or your own archive: presagio ingest FILE")


def _headlines() -> list[Mapping[str, str]]:
    lines = bundled("headlines.jsonl").read_text(encoding="utf-8").splitlines()
    return [orjson.loads(line) for line in lines]
