"""`presagio eval`: measures answers against judged headlines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from bot.cli.shared import Json, NoLlm, SearchMode, corpus_names, now, settings_of, text, with_app
from bot.console.output import Output, progress_bar
from engine.errors import InputError, UsageError
from engine.evaluate.judged import JudgedHeadline, read_headlines, read_qrels
from engine.evaluate.measures import Report, Run, evaluate
from engine.prophecy.headline import read_headline
from engine.search import Mode, SearchRequest

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
    output.measures(measures, rows if isinstance(rows, Sequence) else ())
    if isinstance(notes, Sequence):
        for note in notes:
            output.remark(str(note))


commands = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Measure answers against judged headlines.\n\n"
    "Example: presagio eval --corpus demo --headlines h.jsonl --qrels q.tsv",
)


@commands.callback()
def headlines_alone(
    context: typer.Context,
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus", "-c", autocompletion=corpus_names, help="Corpus to search.", callback=text
        ),
    ] = "",
    headlines: Annotated[
        Path | None,
        typer.Option("--headlines", help="JSON lines: qid, headline; kind, date if known."),
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option("--qrels", help="Lines of qid, id and label 0-6, tabbed.")
    ] = None,
    run_out: Annotated[
        Path | None, typer.Option("--run-out", help="Write what was found to this file.")
    ] = None,
    mode: SearchMode = None,
    no_llm: NoLlm = False,
    json: Json = False,
) -> None:
    """Measure answers to headlines when no command is named."""
    if context.invoked_subcommand is not None:
        return
    if not corpus or headlines is None or qrels is None:
        raise UsageError("Name --corpus, --headlines and --qrels.")
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


@commands.command("compose")
def compose(
    context: typer.Context,
    cases: Annotated[
        Path, typer.Option("--cases", help="JSON lines: prompt; id, language, thread if known.")
    ],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            "-c",
            autocompletion=corpus_names,
            help="Corpus to write from; may be given several times.",
        ),
    ] = None,
    no_web: Annotated[bool, typer.Option("--no-web", help="Ask the corpora alone.")] = False,
    json: Json = False,
) -> None:
    """Measure written tweets.

    Says what code can trace, what the guard catches, what a model confirms.

    Example: presagio eval compose --cases prompts.jsonl --corpus demo
    """
    from bot.cli.evaluate_compose import measure_compositions

    with_app(
        settings_of(context),
        lambda opened: measure_compositions(
            opened,
            cases,
            [text(one) or "" for one in corpus or ()],
            web=not no_web,
            json=json,
            now=now(),
            output=Output.of_process(),
        ),
    )
