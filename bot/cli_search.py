"""`presagio search`, `find` and `eval`: read their arguments."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli_shared import CorpusName, Json, NoLlm, SearchMode, now, settings_of, text, with_app
from bot.console.output import Output
from bot.dates import read_date

# A query may begin with a minus: "-hillary" is no option -h.
QUERY = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


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
