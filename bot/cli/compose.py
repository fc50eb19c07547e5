"""`presagio compose`: tweets from evidence, from the command line."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import CorpusNames, Json, NoWeb, TextArgument, TextOption, command_of
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, Words, words_for
from bot.queries.ask import corpora_for
from bot.queries.compose import build_composer
from bot.replies.composition import STEPS, composition_reply
from engine.compose.composition import ComposeRequest, Composition, StepName
from engine.contracts.answers import ComposeAnswer
from engine.errors import ModelError
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
        str | None, TextOption("--language", help="To write in, such as es. Default: the prompt's.")
    ] = None
    voice: Annotated[
        Voice | None,
        typer.Option("--voice", help="How it writes. Default: compose.voice of the settings."),
    ] = None
    explain: Annotated[bool, typer.Option("--explain", help="Show every step.")] = False
    json: Json = False


async def write_composition(
    app: "App",
    prompt: Annotated[str, TextArgument(help="What to write about, in quotes.")],
    options: ComposeOptions,
    *,
    now: datetime,
    output: Output,
) -> None:
    """Write tweets from corpora and the web, each claim with a source.

    Example: presagio compose "Coffee prices" --corpus demo --variants 3
    """
    words = words_for(DEFAULT, operator=True)

    def tell_step(step: StepName) -> None:
        output.remark(words.say(STEPS[step]))

    composition = await build_composer(app).compose(
        await build_request(app, prompt, options),
        now=now,
        progress=tell_step if output.remarks.isatty() else None,
    )
    print_composition(composition, options, output, words)


command = command_of(write_composition)


async def build_request(app: "App", prompt: str, options: ComposeOptions) -> ComposeRequest:
    """Return what is to be written about, and from what. Raises CorpusNotFound."""
    return ComposeRequest(
        prompt=prompt,
        corpora=tuple(await corpora_for(app, options.corpus or ())),
        language=options.language or None,
        voice=options.voice,
        thread=options.thread,
        variants=options.variants,
        web=not options.no_web,
    )


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
