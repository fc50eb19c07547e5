"""`presagio ask`: reads its arguments."""

from typing import Annotated

import typer

from bot.cli_shared import Json, NoLlm, SearchMode, now, settings_of, text, with_app
from bot.console.output import Output
from bot.dates import read_date
from bot.period import Period
from engine.types import Kind


def _each(values: list[str] | None) -> list[str]:
    return [text(value) or "" for value in values or ()]


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in quotes.", callback=text)],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            help="Corpus; may be given several times. Default: the configured one, else the only"
            " one.",
            callback=_each,
        ),
    ] = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="All corpora of this kind.")] = None,
    after: Annotated[str | None, typer.Option("--after", help="Only from this date on.")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only older texts.")] = None,
    period: Annotated[Period, typer.Option("--period", help="How far back.")] = Period.ALL,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, max=20, help="Texts to answer from [8].")
    ] = None,
    mode: SearchMode = None,
    no_llm: NoLlm = False,
    json: Json = False,
) -> None:
    """Answer a question from the texts of one corpus or several, with sources.

    Example: presagio ask "What was said about coffee prices?" --corpus demo
    """
    from bot.console.ask import AskOptions
    from bot.console.ask import ask as answer

    chosen = AskOptions(
        corpora=tuple(corpus or ()),
        kind=kind,
        after=read_date(after) if after is not None else None,
        before=read_date(before) if before is not None else None,
        period=period,
        limit=limit,
        mode=mode,
        model=not no_llm,
        json=json,
    )
    with_app(
        settings_of(context),
        lambda opened: answer(opened, question, chosen, now=now(), output=Output.of_process()),
    )
