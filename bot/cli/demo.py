"""`presagio demo`: the bundled corpus answers its headlines."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import orjson
import typer

from bot.app import App
from bot.cli.chat import converse
from bot.cli.ingest import IngestOptions, ingest_files, open_sources
from bot.cli.shared import read_clock, settings_of, with_app
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.replies.dates import read_date
from bot.replies.prophecy import prophecy_reply
from engine.corpora import DEMO_CORPUS
from engine.judge.answer import MAX_BEST
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.prophecy.meaning import Meaning
from engine.prophecy.prophecy import NO_MODEL, Prophet
from engine.search import Candidate, Headline, HitKind, SearchRequest, Verdict
from engine.values import Corpus

_AUTHOR = "CapNereoPike"
_DESCRIPTION = (
    "The captain of a river ferry in Puerto Véspero and for eleven months its mayor, who comments"
    " on everything in English and in Spanish, 2009 to 2019"
)
_LANGUAGE = "english"  # for texts without a language; every bundled tweet has one


class RecordedJudge:
    """Judges bundled headlines as people judged them, so that the demo needs no language model.

    People saw what several searches proposed; a text that they did not see counts as 0. `best`
    holds the texts to show for a headline, the one to forward first; the first three that were
    retrieved are shown.
    """

    def __init__(
        self, labels: Mapping[str, Mapping[str, int]], best: Mapping[str, Mapping[str, HitKind]]
    ) -> None:
        self._labels = labels  # by headline and id of the text, as are the kinds of the best
        self._best = best

    async def judge(
        self,
        corpus: Corpus,  # noqa: ARG002 - the protocol's
        headline: Headline,
        candidates: Sequence[Candidate],
        *,
        now: datetime,  # noqa: ARG002 - the protocol's
    ) -> Verdict:
        """Return the recorded judgments; other headlines get none, and a notice that says why."""
        labels = self._labels.get(headline.text)
        if labels is None:
            return Verdict(scores={}, notice=NO_MODEL)
        ids = {candidate.external_id: candidate.id for candidate in candidates}
        best = self._best.get(headline.text, {})
        kinds = {ids[text_id]: kind for text_id, kind in best.items() if text_id in ids}
        return Verdict(
            scores={ids[text_id]: labels.get(text_id, 0) for text_id in ids},
            kinds=kinds,
            best=tuple(kinds)[:MAX_BEST],
            notice=Message("Judged by people, for this demo."),
        )


def bundled_file(name: str) -> Path:
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
    async with open_sources(
        [str(bundled_file("demo.jsonl"))], options, app.settings.ingest
    ) as sources:
        await ingest_files(app, sources, options, output=remarks)
    await app.corpora.change(
        DEMO_CORPUS,
        author=_AUTHOR,
        url_template="https://example.org/{author}/{id}",
        description=_DESCRIPTION,
    )


async def answer_bundled(app: App, *, now: datetime, output: Output) -> None:
    """Load the bundled corpus and answer the bundled headlines, as people judged them.

    The last headline is first answered without them.
    """
    await load_demo(app, output=output)
    judged, by_words = judged_by_people(app), _replace_judge(app, None, None)
    output.line()
    *headlines, last = _read_rows("headlines.jsonl")
    for row in headlines:
        await _answer_row(judged, row, now=now, output=output)
    output.remark("The last headline twice: by words alone, and as people judged it.")
    for answering in (by_words, judged):
        await _answer_row(answering, last, now=now, output=output)
    output.remark("Your own headlines are judged by a language model, once one is set up.")
    output.remark("Next: presagio demo --chat, or your own archive: presagio ingest FILE")


async def _answer_row(app: App, row: Mapping[str, str], *, now: datetime, output: Output) -> None:
    request = SearchRequest(
        headline=read_headline(row["headline"], date=read_date(row["date"])),
        limit=app.settings.search.limit,
        now=now,
    )
    prophecy = await app.prophesy(request, corpus=DEMO_CORPUS)
    words = words_for(DEFAULT, operator=True)
    output.show(prophecy_reply(prophecy, prophecy.hits, now=now, words=words))


def judged_by_people(app: App) -> App:
    """Return the app with recorded judgments in place of those of a model."""
    headlines = {row["qid"]: row["headline"] for row in _read_rows("judged.headlines.jsonl")}
    labels: dict[str, dict[str, int]] = {headline: {} for headline in headlines.values()}
    best: dict[str, dict[str, HitKind]] = {headline: {} for headline in headlines.values()}
    for qid, text_id, label in (line.split("\t") for line in _read_lines("judged.qrels.tsv")):
        labels[headlines[qid]][text_id] = int(label)
    for qid, text_id, kind in (line.split("\t") for line in _read_lines("judged.best.tsv")):
        best[headlines[qid]][text_id] = HitKind(kind)
    return _replace_judge(app, RecordedJudge(labels, best), app.prophet.meaning)


def _replace_judge(app: App, judge: RecordedJudge | None, meaning: Meaning | None) -> App:
    prophet = Prophet(app.prophet.index, judge, settings=app.settings.prophecy, meaning=meaning)
    return replace(app, prophet=prophet)


def _read_lines(name: str) -> list[str]:
    return bundled_file(name).read_text(encoding="utf-8").splitlines()


def _read_rows(name: str) -> list[Mapping[str, str]]:
    return [orjson.loads(line) for line in _read_lines(name)]


def command(
    context: typer.Context,
    chat: Annotated[
        bool, typer.Option("--chat", help="Read headlines from the terminal until input ends.")
    ] = False,
) -> None:
    """Answer five headlines from a bundled corpus.

    People have judged these answers; the last is shown unjudged beside it. With --chat the
    headlines are yours, and a language model judges them if one is set up.

    Example: presagio demo --chat
    """

    async def answer(opened: App) -> None:
        output = Output.of_process()
        if chat:
            await load_demo(opened, output=output)
            await converse(opened, corpus=DEMO_CORPUS, chat_id=DEMO_CORPUS)
        else:
            await answer_bundled(opened, now=read_clock(), output=output)

    with_app(settings_of(context), answer, migrate=True)
