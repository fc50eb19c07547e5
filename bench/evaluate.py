"""Measures answers against judged headlines, and tweets that are written.

`python -m bench.evaluate --corpus demo --headlines FILE --qrels FILE [--run-out FILE]`
`python -m bench.evaluate compose --cases FILE [--corpus NAME ...]`

The corpora, the database and the model are those of the settings, as for `presagio`.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from bench.compositions import (
    ComposeCase,
    SupportFigures,
    TraceFigures,
    measure_guard,
    measure_support,
    read_cases,
    read_labelled,
    trace_composition,
)
from bench.measures import (
    JudgedHeadline,
    Report,
    Run,
    evaluate,
    read_headlines,
    read_qrels,
)
from bot.cli.shared import (
    Json,
    NoLlm,
    NoWeb,
    SearchMode,
    app_command,
    corpus_names,
    parse_string,
    parse_texts,
    read_clock,
    run_in_app,
    spread_options,
)
from bot.console.screen import Output, progress_bar
from bot.queries.ask import corpora_for
from bot.queries.compose import build_composer
from engine.compose.composition import ComposeRequest, StepName
from engine.errors import InputError, ModelError, PresagioError, UsageError
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest
from engine.values import Corpus

if TYPE_CHECKING:
    from bot.app import App

GUARDED = Path(__file__).with_name("guarded.jsonl")
_DEPTH = 10  # hits per headline in a run file
commands = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure answers against judged headlines.\n\n"
    "Example: python -m bench.evaluate --corpus demo --headlines h.jsonl --qrels q.tsv",
)


@app_command(commands, "compose")
async def measure_compositions(
    app: "App",
    *,
    cases: Annotated[
        Path, typer.Option("--cases", help="JSON lines: prompt; id, language, thread if known.")
    ],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            "-c",
            metavar="<str>",
            autocompletion=corpus_names,
            help="Corpus to write from; may be given several times.",
            callback=parse_texts,
        ),
    ] = None,
    no_web: NoWeb = False,
    json: Json = False,
    now: datetime,
    output: Output,
) -> None:
    """Measure written tweets.

    Says what code can trace, what the guard catches, what a model confirms.

    Example: python -m bench.evaluate compose --cases prompts.jsonl --corpus demo
    """
    guard = measure_guard(read_labelled(GUARDED))
    chosen, asked = await corpora_for(app, corpus or ()), read_cases(cases)
    composer = build_composer(app)
    if composer.models is None:
        raise ModelError("No language model is set up, and without one nothing is written.")
    shown, support, rows = TraceFigures(), SupportFigures(), list[dict[str, object]]()
    with progress_bar(output.remarks, "prompts", len(asked)) as tell:
        for case in asked:
            composition = await composer.compose(_build_request(case, chosen, not no_web), now=now)
            async with composer.models.reserve_steps([StepName.CHECK] * 2, now=now) as models:
                length = composer.settings.passage_length
                judged = await measure_support(
                    models[StepName.CHECK], composition, length=length, now=now
                )
            here = trace_composition(composition)
            shown, support = shown + here, support + judged
            rows.append(
                {
                    "id": case.id,
                    "variants": len(composition.variants),
                    "removed": len(composition.removed),
                    "traceability": here.share,
                    "support": judged.share,
                    "precision": judged.precision,
                    "notice": str(composition.notice or ""),
                }
            )
            tell(len(rows), "")
    report: dict[str, object] = {
        "traceability": shown.share,
        "statements": shown.statements,
        "untraced": list(shown.faults),
        "guard": asdict(guard),
        "support": support.share,
        "citation_precision": support.precision,
        "judged_sentences": support.sentences,
        "judged_citations": support.citations,
        "not_judged": support.failed,
    }
    if json:
        output.json({**report, "rows": rows})
        return
    print_measures(output, report, rows)


def _build_request(case: ComposeCase, corpora: Sequence[Corpus], web: bool) -> ComposeRequest:
    return ComposeRequest(
        prompt=case.prompt,
        corpora=tuple(corpora),
        language=case.language,
        thread=case.thread,
        web=web,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options from the command line; a command of the group takes none of them."""

    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            "-c",
            autocompletion=corpus_names,
            help="Corpus to search.",
            callback=parse_string,
        ),
    ] = ""
    headlines: Annotated[
        Path | None,
        typer.Option("--headlines", help="JSON lines: qid, headline; kind, date if known."),
    ] = None
    qrels: Annotated[
        Path | None, typer.Option("--qrels", help="Lines of qid, id and label 0-6, tabbed.")
    ] = None
    run_out: Annotated[
        Path | None, typer.Option("--run-out", help="Write what was found to this file.")
    ] = None
    mode: SearchMode = None
    no_llm: NoLlm = False
    json: Json = False


async def evaluate_headlines(
    app: "App",
    headlines_file: Path,
    qrels_file: Path,
    options: EvaluationOptions,
    *,
    now: datetime,
    output: Output,
) -> None:
    """Answer every headline and write the measures. Raises InputError, CorpusNotFound."""
    headlines, qrels = read_headlines(headlines_file), read_qrels(qrels_file)
    runs: dict[str, Run] = {}
    with progress_bar(output.remarks, "headlines", len(headlines)) as tell:
        for headline in headlines:
            runs[headline.qid] = await _run_headline(app, headline, options, now)
            tell(len(runs), "")
    report = evaluate(headlines, qrels, runs)
    if options.run_out:
        _write_runs(options.run_out, runs)
    if not options.no_llm and app.prophet.judge is None:
        output.remark("No language model is set up: these are the figures of the search alone.")
    _write_report(report, options, output)


async def _run_headline(
    app: "App", headline: JudgedHeadline, options: EvaluationOptions, now: datetime
) -> Run:
    request = SearchRequest(
        headline=read_headline(headline.headline, date=headline.date),
        limit=_DEPTH,
        now=now,
        judged=not options.no_llm,
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


def _write_report(report: Report, options: EvaluationOptions, output: Output) -> None:
    measures = report.as_json()
    if options.json:
        output.json({"corpus": options.corpus, "judged": not options.no_llm} | measures)
        return
    notes, rows = measures.pop("notes"), measures.pop("rows")
    print_measures(output, measures, rows if isinstance(rows, Sequence) else ())
    if isinstance(notes, Sequence):
        for note in notes:
            output.remark(str(note))


@commands.callback()
@spread_options
def headlines_alone(context: typer.Context, options: EvaluationOptions) -> None:
    """Measure answers to headlines when no command is named."""
    if context.invoked_subcommand is not None:
        return
    if not options.corpus or options.headlines is None or options.qrels is None:
        raise UsageError("Name --corpus, --headlines and --qrels.")
    files = options.headlines, options.qrels
    run_in_app(
        context, evaluate_headlines, *files, options, now=read_clock(), output=Output.of_process()
    )


def print_measures(
    output: Output, measures: Mapping[str, object], rows: Sequence[Mapping[str, object]]
) -> None:
    """Write measures, one on a line, and the rows that they sum up."""
    for name, value in measures.items():
        output.line(f"{name}: {_format_figure(value)}")
    output.line()
    output.table([{name: _format_figure(value) for name, value in row.items()} for row in rows])


def _format_figure(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_format_figure(part)}" for name, part in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def run(program: typer.Typer) -> None:
    """Run a program as `presagio` runs a command: an error is one line."""
    try:
        program()
    except PresagioError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    run(commands)
