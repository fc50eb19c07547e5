"""`presagio eval`: measures answers against judged headlines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from bot.cli.shared import Json, NoLlm, SearchMode, now, settings_of, with_app
from bot.console.output import Output, progress_bar
from engine.errors import InputError
from engine.evaluate.judged import JudgedHeadline, read_headlines, read_qrels
from engine.evaluate.measures import Report, Run, evaluate
from engine.prophecy.headline import read_headline
from engine.types import Mode, SearchRequest

if TYPE_CHECKING:
    from bot.app import App

_DEPTH = 10  # hits per headline in a run file


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options from the command line."""

    corpus: str
    headlines: Path
    qrels: Path
    run_out: Path | None = None
    judged: bool = True
    mode: Mode | None = None  # None means the settings' value
    json: bool = False


async def evaluation(
    app: "App", options: EvaluationOptions, *, now: datetime, output: Output
) -> None:
    """Answer every headline and write the measures. Raises InputError, CorpusNotFound."""
    headlines, qrels = read_headlines(options.headlines), read_qrels(options.qrels)
    runs: dict[str, Run] = {}
    with progress_bar(output.remarks, "headlines", len(headlines)) as tell:
        for headline in headlines:
            runs[headline.qid] = await _run(app, headline, options, now)
            tell(len(runs), "")
    report = evaluate(headlines, qrels, runs)
    if options.run_out:
        _write_runs(options.run_out, runs)
    _write(report, options, output)


async def _run(
    app: "App", headline: JudgedHeadline, options: EvaluationOptions, now: datetime
) -> Run:
    request = SearchRequest(
        headline=read_headline(headline.headline, date=headline.date),
        limit=_DEPTH,
        now=now,
        judged=options.judged,
        mode=options.mode,
    )
    prophecy = await app.prophesy(request, corpus=options.corpus)
    return Run(
        ids=tuple(hit.candidate.external_id for hit in prophecy.hits),
        candidates=prophecy.candidates,
        coverage=prophecy.coverage,
        score=prophecy.hits[0].score if prophecy.hits else None,
    )


def _write_runs(path: Path, runs: Mapping[str, Run]) -> None:
    lines = [orjson.dumps(run.as_json(qid)) for qid, run in runs.items()]
    try:
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    except OSError as exc:
        raise InputError(
            f"{path} cannot be written: {exc.strerror or exc}.", fix="Choose another --run-out."
        ) from exc


def _write(report: Report, options: EvaluationOptions, output: Output) -> None:
    measures = report.as_json()
    if options.json:
        output.json({"corpus": options.corpus, "judged": options.judged} | measures)
        return
    notes, rows = measures.pop("notes"), measures.pop("rows")
    for name, value in measures.items():
        output.line(f"{name}: {_figure(value)}")
    if isinstance(rows, Sequence):
        output.line()
        output.table([{name: _figure(value) for name, value in row.items()} for row in rows])
    if isinstance(notes, Sequence):
        for note in notes:
            output.remark(str(note))


def _figure(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_figure(part)}" for name, part in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def command(
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
