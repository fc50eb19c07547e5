"""/compose: tweets from evidence, announced by a message that they then take the place of."""

from dataclasses import replace
from datetime import datetime

from bot.app import App
from bot.commands.archives import points_to_corpora
from bot.commands.registry import Command, find_page, too_old
from bot.commands.rights import COUNTED, LOOKS
from bot.i18n.words import marked, words_for
from bot.queries.ask import corpora_for
from bot.replies.buttons import WRITE
from bot.replies.composition import (
    NEXT,
    REASONS,
    SOURCES,
    STOP,
    THREAD,
    reasons_reply,
    sources_reply,
    step_reply,
    variant_reply,
)
from bot.replies.limits import cut
from bot.reply import Action, Reply, reply_aside
from bot.request import Request
from db.chat.chats import Quotas
from db.chat.compositions import ComposeTask, Compositions, KeptTask
from engine.compose.composition import Composition, StepName
from engine.errors import PresagioError
from engine.messages import Message
from engine.settings import UNLIMITED

_LONGEST_PROMPT = 1000
_EXAMPLE = marked("/compose Coffee prices")
_NAME = "compose"


async def _compose_tweet(request: Request, app: App) -> Reply | None:
    words = request.words
    if request.revision:
        return None  # what was asked for is being written, or is paid for
    if not request.text:
        text = words.say(
            "Write what the tweet is to be about, such as: {example}", example=words.say(_EXAMPLE)
        )
        return reply_aside(request, text)
    corpus = app.archive_of(request.known_chat)
    task = ComposeTask(
        prompt=cut(request.text, _LONGEST_PROMPT),
        corpora=(corpus,),
        person=request.who,
        language=words.language,
    )
    return await _announce_task(request, app, task)


async def _about_answer(request: Request, action: Action, app: App) -> Reply | None:
    """Write about an answered headline; the tweets that were shown are among the evidence."""
    if (page := await find_page(request, action, app)) is None:
        return too_old(request)
    headline = page.prophecy.headline
    task = ComposeTask(
        prompt=cut(" ".join((headline.text or headline.original).split()), _LONGEST_PROMPT),
        corpora=(page.prophecy.corpus,),
        person=request.who,
        language=request.words.language,
        answer_id=page.id,
        first=page.first,
    )
    return await _announce_task(request, app, task)


async def _announce_task(request: Request, app: App, task: ComposeTask) -> Reply:
    """Store a task, and return the message that is edited while it is written."""
    words = request.words
    if app.client is None:
        text = words.say(
            "No language model is set up here, and without one nothing is written. /ask answers"
            " without one, in words of the sources."
        )
        return reply_aside(request, text)
    if not request.place.kept:
        command = words.write_commands(f"/{_NAME}")
        return reply_aside(
            request, words.say("{command} needs a chat. Use it in one with me.", command=command)
        )
    with points_to_corpora():
        corpora = await corpora_for(app, task.corpora)
    await require_daily(app, request.payer, now=request.now)
    task = replace(task, corpora=tuple(corpus.name for corpus in corpora))
    chat, thread = request.known_chat, request.place.thread
    task_id = await Compositions(app.database).keep(chat, thread, task, now=request.now)
    return step_reply(task_id, StepName.RETRIEVE, words)


async def _stop_task(request: Request, action: Action, app: App) -> Reply:
    """Stop what is being written, for whoever asked for it."""
    task, words = await _find_task(request, action, app), request.words
    if task is None:
        return too_old(request)
    if request.who != task.task.person and request.who not in app.settings.chat.admins:
        return reply_aside(request, words.say("Only who asked for it can stop it."))
    if not await Compositions(app.database).stop(task.id):
        return reply_aside(request, words.say("It is finished already."))
    text = words_for(task.task.language).say("Stopped.")
    return Reply(words=words, text=text, stops=task.id, replaces=True)


async def _show_next_variant(request: Request, action: Action, app: App) -> Reply:
    task = await _find_task(request, action, app)
    outcome = _find_written(task)
    if task is None or outcome is None or not action.value.isdecimal():
        return too_old(request)
    words = words_for(task.task.language)
    return replace(variant_reply(task.id, outcome, words, at=int(action.value)), replaces=True)


async def _as_thread(request: Request, action: Action, app: App) -> Reply:
    """Write about the same again, as a thread."""
    kept = await _find_task(request, action, app)
    if kept is None or _find_written(kept) is None:
        return too_old(request)
    task = replace(kept.task, as_thread=True, person=request.who, language=request.words.language)
    return await _announce_task(request, app, task)


async def _show_sources(request: Request, action: Action, app: App) -> Reply:
    outcome = _find_written(await _find_task(request, action, app))
    if outcome is None:
        return too_old(request)
    at = int(action.value) if action.value.isdecimal() else 0
    return replace(sources_reply(outcome, request.words, at=at), ephemeral=True)


async def _show_reasons(request: Request, action: Action, app: App) -> Reply:
    outcome = _find_written(await _find_task(request, action, app))
    if outcome is None:
        return too_old(request)
    full = request.known_chat.full_answers
    return replace(reasons_reply(outcome, request.words, full=full), ephemeral=True)


async def _find_task(request: Request, action: Action, app: App) -> KeptTask | None:
    if app.client is None:
        return None
    return await Compositions(app.database).get(request.known_chat, action.answer_id or 0)


async def require_daily(app: App, asker: str, *, now: datetime) -> None:
    """Count one request against the asker's `compose.daily`.

    Raises PresagioError if it is one too many today (UTC), and storage errors.
    """
    limit = app.settings.compose.daily
    if limit == UNLIMITED:
        return
    if await Quotas(app.database).use(f"compose:{asker}", now=now) > limit:
        raise PresagioError(
            Message("Enough was written for you today: {limit} times.", limit=limit),
            fix=Message("Ask again tomorrow (UTC)."),
        )


def _find_written(task: KeptTask | None) -> Composition | None:
    return task.outcome if task and task.outcome and task.outcome.variants else None


COMPOSE = Command(
    name=_NAME,
    aliases=("tweet",),
    summary=marked("write a tweet in which each claim has a source; nothing is published"),
    usage=marked("/compose PROMPT"),
    example=_EXAMPLE,
    handler=_compose_tweet,
    act=COUNTED,
    actions={
        WRITE: _about_answer,
        NEXT: _show_next_variant,
        THREAD: _as_thread,
        SOURCES: _show_sources,
        REASONS: _show_reasons,
        STOP: _stop_task,
    },
    pressed={NEXT: LOOKS, SOURCES: LOOKS, REASONS: LOOKS, STOP: LOOKS},
    takes_quoted=True,
)
