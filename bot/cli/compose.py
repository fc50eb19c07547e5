"""`presagio compose`: tweets from evidence, from the command line."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import (
    CorpusNames,
    Json,
    NoWeb,
    parse_string,
    read_clock,
    run_in_app,
    spread_options,
)
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, Words, words_for
from bot.queries.ask import corpora_for
from bot.queries.compose import compose_parts
from bot.replies.composition import STEPS, composition_reply
from bot.signals import run_until_signal
from engine.compose.composition import ComposeRequest, Composition, StepName
from engine.compose.record import RunRecord, read_record, record_parts, replay_parts, save_record
from engine.compose.run import Composer
from engine.contracts.composition import ComposeAnswer
from engine.errors import ModelError, UsageError
from engine.settings.models import Voice

if TYPE_CHECKING:
    from bot.app import App


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeOptions:
    """Options from the command line."""

    corpus: CorpusNames = None
    thread: Annotated[bool, typer.Option("--thread", help="A thread of 2 to 6 tweets.")] = False
    variants: Annotated[
        int, typer.Option("--variants", min=1, max=3, help="Variants to choose from.")
    ] = 1
    no_web: NoWeb = False
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            help="To write in, such as es. Default: the prompt's.",
            callback=parse_string,
        ),
    ] = None
    voice: Annotated[
        Voice | None,
        typer.Option("--voice", help="How it writes. Default: compose.voice of the settings."),
    ] = None
    explain: Annotated[bool, typer.Option("--explain", help="Show every step.")] = False
    record: Annotated[
        Path | None, typer.Option("--record", help="Write what the run was given to this file.")
    ] = None
    replay: Annotated[
        Path | None, typer.Option("--replay", help="Repeat a recorded run; takes no prompt.")
    ] = None
    json: Json = False


async def write_composition(
    app: "App", prompt: str, options: ComposeOptions, *, now: datetime, output: Output
) -> None:
    """Write the tweets, or why there are none."""
    request = ComposeRequest(
        prompt=prompt,
        corpora=tuple(await corpora_for(app, options.corpus or ())),
        language=options.language or None,
        voice=options.voice,
        thread=options.thread,
        variants=options.variants,
        web=not options.no_web,
    )
    words, parts = words_for(DEFAULT, operator=True), compose_parts(app)
    record = RunRecord(request=request, now=now, settings=parts.settings)
    if options.record:
        parts = record_parts(parts, record)
    try:
        composition = await Composer(parts).compose(
            request, now=now, progress=_build_progress(output, words)
        )
    finally:
        if options.record:
            save_record(record, options.record)
    print_composition(composition, options, output, words)


async def write_again(record: Path, options: ComposeOptions, *, output: Output) -> None:
    """Repeat a recorded run, without database and model. Raises InputError."""
    recorded = read_record(record)
    parts = replay_parts(recorded, clock=time.perf_counter)
    composition = await Composer(parts).compose(recorded.request, now=recorded.now)
    print_composition(composition, options, output, words_for(DEFAULT, operator=True))


def print_composition(
    composition: Composition, options: ComposeOptions, output: Output, words: Words
) -> None:
    """Write a composition to the terminal or as JSON. Raises ModelError if a model failed."""
    if options.json:
        output.json(ComposeAnswer.of(composition).to_json())
    elif options.explain or not composition.failed:
        # Not wrapped to the width of the terminal: tweets are there to be copied.
        output.line(composition_reply(composition, words, explain=options.explain).text or "")
    if composition.failed:
        raise ModelError(composition.notice or "Nothing was written.")


def _build_progress(output: Output, words: Words) -> Callable[[StepName], None] | None:
    if not output.remarks.isatty():
        return None
    return lambda step: output.remark(words.say(STEPS[step]))


@spread_options(ComposeOptions)
def command(
    context: typer.Context,
    prompt: Annotated[
        str | None, typer.Argument(help="What to write about, in quotes.", callback=parse_string)
    ] = None,
    *,
    options: ComposeOptions,
) -> None:
    """Write tweets from corpora and the web, each claim with a source.

    Example: presagio compose "Coffee prices" --corpus demo --variants 3
    """
    output = Output.of_process()
    if (prompt is None) is (options.replay is None):
        raise UsageError("Give a prompt, or --replay FILE.")
    if options.replay:
        run_until_signal(write_again(options.replay, options, output=output))
    else:
        run_in_app(
            context, write_composition, prompt or "", options, now=read_clock(), output=output
        )
