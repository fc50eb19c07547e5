"""Writing tweets over HTTP: for programs as JSON or a stream of events, for people as a page."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from bot.i18n.words import Words
from bot.listening import read_body
from bot.queries.compose import build_composer
from bot.query_log import current_source
from bot.replies.composition import STEPS, source_facts
from bot.web.examples import list_samples
from bot.web.failures import Refusal, describe_problems
from bot.web.rendering import render_fragment, render_template, web_address
from bot.web.schemas import LONGEST_TEXT, CorpusName, Text
from bot.web.shared_state import SharedOf, SharedState, limit_answers, limit_requests, may_ask
from bot.web.streaming import EVENTS, own_work, stream_work, wants_events
from bot.web.visitor import ProphecyForm, find_visitor, list_choices, read_form
from engine.budget import require_open
from engine.compose.composition import (
    ComposedSource,
    ComposeRequest,
    Composition,
    Progress,
    Tweet,
    Variant,
)
from engine.compose.tweets import LONGEST as LONGEST_TWEET
from engine.compose.tweets import tweet_length
from engine.contracts.answers import ComposeAnswer
from engine.errors import NotAnswerable, UsageError
from engine.messages import Message
from engine.settings.models import Voice

_Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,20}(-[A-Za-z0-9]{2,8})?$")]

# 2.0 is an integer in JSON, and not in Python.
_Whole = Annotated[
    int,
    BeforeValidator(
        lambda given: int(given) if isinstance(given, float) and given % 1 == 0 else given
    ),
]

_CITES = re.compile(r"(\[\d+\])")
_CITED = re.compile(rf"(?<!\s)\s*{_CITES.pattern}")  # from the first space on: linear
_VARIANTS = 3  # on the page
_DEAR = [Depends(limit_answers)]

programs = APIRouter(
    prefix="/api", tags=["ask"], dependencies=[Depends(limit_requests), Depends(may_ask)]
)
people = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])

Run = Callable[[Progress], Coroutine[Any, Any, Composition]]
SourceView: TypeAlias = tuple[ComposedSource, list[str], str | None]  # facts about it, its address


def _require_distinct(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("a corpus is named twice")
    return names


class ComposeBody(BaseModel):
    """What to write about, and from what."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    prompt: Text = Field(
        validation_alias=AliasChoices("q", "prompt"),
        description="What to write about; prompt names it too.",
        examples=["Coffee prices"],
    )
    corpora: Annotated[list[CorpusName], AfterValidator(_require_distinct)] = Field(
        [],
        max_length=10,
        json_schema_extra={"uniqueItems": True},
        description="Corpora to take the evidence from; none: the configured one, else all.",
    )
    language: _Language | None = Field(
        None, description="To write in, such as es; left out, the language of the prompt."
    )
    voice: Voice | None = Field(None, description="Plain, or dry; left out, that of the settings.")
    thread: bool = Field(False, description="A thread of 2 to 6 tweets.")
    variants: _Whole = Field(1, ge=1, le=3, description="Variants to choose from.")
    web: bool = Field(True, description="Whether the web is asked for what the corpora lack.")


async def _read_body(request: Request) -> ComposeBody:
    """Read the body as a dependency after those of the key and the rate: the framework would read
    it before them. Raises RequestValidationError, Refusal, HTTPException."""
    body = await read_body(request)
    try:
        return ComposeBody.model_validate_json(body)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            _require_json(request)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        ) from None


def _require_json(request: Request) -> None:
    """Raise Refusal for a body of another type, where its sender names one."""
    named = request.headers.get("content-type", "").partition(";")[0].strip()
    if named and named != "application/json" and not named.endswith("+json"):
        raise Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            Message("The body is of type {named}, not JSON.", named=named),
            fix=Message("Send the header: Content-Type: application/json"),
        )


@programs.post(
    "/compose",
    response_model=ComposeAnswer,
    responses=describe_problems(400, 401, 403, 404, 409, 413, 415, 429, 503)
    | {200: {"content": {EVENTS: {"schema": {"type": "string"}}}}},
    summary="Write a tweet in which each claim has a source",
    dependencies=_DEAR,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": ComposeBody.model_json_schema()}},
        }
    },
)
async def _compose(
    request: Request, shared: SharedOf, body: Annotated[ComposeBody, Depends(_read_body)]
) -> Any:
    """Write from the texts and, for what they lack, the web. Nothing is published.

    With `Accept: text/event-stream` the answer is a stream: an event `step` as each step begins,
    then `done` with the answer, or `failed` with the problem.
    """
    request_to_write = await read_request(shared, body)
    _require_writer(shared)
    run = _prepare_run(shared, request_to_write)
    if not wants_events(request):
        return ComposeAnswer.of(await run(lambda _: None))
    steps: asyncio.Queue[object] = asyncio.Queue()
    # Begun here, where it is known who asks and whose budget is spent.
    running = asyncio.ensure_future(run(lambda step: steps.put_nowait({"step": step.value})))
    return stream_work(own_work(running), steps, _dump_composition)


async def read_request(shared: SharedState, body: ComposeBody) -> ComposeRequest:
    """Return what a program asks for. Raises the errors of unknown corpora."""
    corpora = [
        corpus for name in body.corpora or [""] for corpus in await shared.choose_corpora(name)
    ]
    return ComposeRequest(
        prompt=body.prompt,
        corpora=tuple(dict.fromkeys(corpora)),
        language=body.language,
        voice=body.voice,
        thread=body.thread,
        variants=body.variants,
        web=body.web,
    )


async def _dump_composition(composition: Composition) -> object:
    return ComposeAnswer.of(composition).to_json()


@people.get("/compose")
async def _show_form(request: Request, shared: SharedOf) -> Response:
    values = request.query_params
    prompt = values.get("prompt", "").strip()[:LONGEST_TEXT]
    return await _render_page(request, shared, prompt, values.get("corpus", "").strip())


@people.post("/compose")
async def _show_composition(request: Request, shared: SharedOf) -> Response:
    """Write for a page, and for one that asks again for the same after its stream broke."""
    form = await read_form(request)
    prompt, corpus = _read_prompt(form), form.get("corpus", "").strip()
    words = find_visitor(request).words
    _, selected = await list_choices(shared, corpus, words.language)
    thread = form.get("thread") == "on"
    steps: asyncio.Queue[object] = asyncio.Queue()
    steps.put_nowait({"says": words.say("Reading and writing…")})
    writing = await _join_writing(
        request,
        shared,
        ComposeRequest(
            prompt=prompt,
            corpora=(await shared.app.corpus(selected),),
            thread=thread,
            variants=_VARIANTS,
        ),
        lambda step: steps.put_nowait({"says": words.say(STEPS[step])}),
    )
    if not wants_events(request):
        async with writing as running:
            outcome = await asyncio.shield(running)
        return await _render_page(request, shared, prompt, corpus, outcome, thread=thread)

    async def render_outcome(outcome: Composition) -> object:
        view = _describe_outcome(outcome, words)
        return {"html": render_fragment(request, "composition.html", **view)}

    return stream_work(writing, steps, render_outcome, words=words)


def _read_prompt(form: Mapping[str, str]) -> str:
    """Return what to write about. Raises UsageError."""
    prompt = form.get("prompt", "").strip()
    if not prompt:
        raise UsageError(Message("There is nothing to write about."))
    if len(prompt) > LONGEST_TEXT:
        raise UsageError(
            Message("A prompt has no more than {number} characters.", number=LONGEST_TEXT)
        )
    return prompt


async def _join_writing(
    request: Request, shared: SharedState, wanted: ComposeRequest, tell: Progress
) -> AbstractAsyncContextManager[asyncio.Future[Composition]]:
    """Return the writing of what is wanted, begun unless it is under way. Raises the errors of who
    may not have it begun."""

    async def admit() -> None:
        await limit_answers(request, shared)
        _require_writer(shared)

    key = (wanted.prompt, wanted.corpora[0].name, wanted.thread)
    is_under_way = key in shared.compositions
    if not is_under_way:
        await admit()
    run = _prepare_run(shared, wanted)

    async def write() -> Composition:
        if is_under_way:  # it has ended meanwhile, and this is another one
            await admit()
        return await run(tell)

    return shared.compositions.join(key, write, returns=wants_events(request))


async def _render_page(
    request: Request,
    shared: SharedState,
    prompt: str,
    corpus: str,
    outcome: Composition | None = None,
    *,
    thread: bool = False,
) -> Response:
    words = find_visitor(request).words
    corpora, selected = await list_choices(shared, corpus, words.language)
    return render_template(
        request,
        "compose.html",
        prompt=prompt,
        thread=thread,
        asked=ProphecyForm(corpus=selected),
        corpora=corpora,
        samples=()
        if outcome
        else await list_samples(shared, await shared.app.corpus(selected), words),
        **_describe_outcome(outcome, words),
    )


def _describe_outcome(outcome: Composition | None, words: Words) -> dict[str, Any]:
    """Return what the template shows of a composition, or that there is none yet."""
    if outcome is None:
        return {"outcome": None}
    return {
        "outcome": outcome,
        "notice": words.render(outcome.notice) if outcome.notice else None,
        "groups": _group_variants(outcome, words),
        "longest": LONGEST_TWEET,
        "removal": words.count(
            "{number} passage left out or changed",
            "{number} passages left out or changed",
            len(outcome.removed),
        ),
        "removed": [(removal.text, words.render(removal.why)) for removal in outcome.removed],
    }


def _group_variants(
    outcome: Composition, words: Words
) -> list[tuple[list[dict[str, Any]], list[SourceView]]]:
    """Return what the template shows of variants, and of what they cite, each source once.

    Threads share none: their last tweet lists their sources by the numbers that are copied.
    """
    groups = list[tuple[list[dict[str, Any]], dict[Hashable, ComposedSource]]]()
    for variant in outcome.variants:
        if not groups or variant.thread:
            groups.append(([], {}))
        variants, sources = groups[-1]
        numbers = {}  # the mark of a source in the variant, and that on the page
        for source in outcome.sources_of(variant):
            new = replace(source, number=len(sources) + 1)
            shared = sources.setdefault((source.passage.key, source.quote), new)
            numbers[f"[{source.number}]"] = f"[{shared.number}]"
        variants.append(_describe_variant(variant, numbers, words))
    return [
        (variants, [_describe_source(source, words) for source in sources.values()])
        for variants, sources in groups
    ]


def _describe_variant(variant: Variant, numbers: Mapping[str, str], words: Words) -> dict[str, Any]:
    return {
        "checked": variant.checked,
        "warnings": [words.render(warning) for warning in variant.warnings],
        "numbered": not variant.thread,
        "tweets": [
            _describe_tweet(tweet, numbers, is_alone=not variant.thread) for tweet in variant.tweets
        ],
    }


def _describe_source(source: ComposedSource, words: Words) -> SourceView:
    facts = source_facts(source, words, names_corpus=False)
    return source, facts, web_address(source.passage.url)


def _describe_tweet(tweet: Tweet, numbers: Mapping[str, str], *, is_alone: bool) -> dict[str, Any]:
    """Return what the template shows of a tweet: with the numbers of its sources, and what is
    copied, that is without them where no tweet after it lists the sources."""
    copied = _CITED.sub("", tweet.text) if is_alone else tweet.text
    return {
        "pieces": [numbers.get(piece, piece) for piece in _CITES.split(tweet.text) if piece],
        "copied": copied,
        "length": tweet_length(copied),
    }


def _require_writer(shared: SharedState) -> None:
    """Raise NotAnswerable where there is no model, and BudgetClosed where this asker may not have
    it asked."""
    if shared.app.client is None:
        raise NotAnswerable(
            Message("No language model is set up, and without one nothing is written."),
            fix=Message("Ask a question instead: /api/ask answers without a model."),
        )
    require_open(shared.settings.budget, current_source())


def _prepare_run(shared: SharedState, request: ComposeRequest) -> Run:
    """Return what writes, once it is called."""
    writer, now = build_composer(shared.app), shared.now()
    return lambda progress: writer.compose(request, now=now, progress=progress)
