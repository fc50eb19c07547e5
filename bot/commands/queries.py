"""/find, /ask and /compose: queries of the dialect, questions answered with sources, and tweets
written from evidence, announced by a message that they then take the place of."""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.app import App
from bot.commands.dialogue_acts import names_another_subject
from bot.commands.registry import Command, find_page, too_old
from bot.commands.rights import COUNTED, LOOKS, SEARCHES
from bot.i18n.words import marked, words_for
from bot.queries.ask import ask_one, corpora_for
from bot.queries.find import find
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
from bot.replies.find import answer_reply, brief_answer_reply, brief_find_reply, find_reply
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, reply_aside
from bot.request import Request
from db.chat.answers import Answers, AskedQuestion, EarlierQuestions, Questions
from db.chat.chats import Quotas
from db.chat.compositions import ComposeTask, Compositions, KeptTask
from engine.chat import Answer
from engine.compose.composition import Composition, StepName
from engine.contracts.results import Receipt
from engine.errors import PresagioError
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.settings import UNLIMITED

_FIND_EXAMPLE = marked('/find "coffee prices" OR tea -free before:2015')
_LONGEST_QUESTION = 1000
_LONGEST_CONTEXT = 300
_GOES_ON = timedelta(hours=1)  # what is asked later has another subject
_SHOWN = 5
FOUND = "found"  # the button below the hits of a query
_LONGEST_TEXT = 280
_ASK_EXAMPLE = marked("/ask What was said about coffee prices?")


async def _find_page(
    request: Request, app: App, query: str, corpus: str, *, after: int = 0
) -> Reply:
    """Return the hits of a query beyond rank `after`, and store the receipt of all so far.

    The query is made again for each page, by words and without a model. Raises PresagioError.
    """
    answer = await find(app, query, corpus=corpus, limit=after + _SHOWN)
    if after and len(answer.hits) <= after:
        return reply_aside(request, request.words.say("That is all I found."))
    brief = request.wants_brief_answer or after
    if brief:
        reply = brief_find_reply(answer, request.words, longest=_LONGEST_TEXT, after=after)
    else:
        reply = find_reply(answer, request.words, longest=_LONGEST_TEXT)
    if not request.place.kept:
        return reply
    stored = await Answers(app.database).keep_receipt(
        request.known_chat,
        request.place.thread,
        Receipt.of(answer),
        asked_at=request.now,
        event_id=request.answered_event,
    )
    if len(answer.hits) < after + _SHOWN:
        return reply
    more = Button(label=request.words.say("More"), action=Action(name=FOUND, answer_id=stored))
    return replace(reply, buttons=((more,),))


async def more_found(request: Request, app: App, receipt: Receipt) -> Reply:
    """Return the next page of the query that a receipt is of. Raises PresagioError."""
    return await _find_page(
        request, app, receipt.canonical, receipt.corpus, after=len(receipt.hits)
    )


async def press_more_found(request: Request, action: Action, app: App) -> Reply:
    """Show what follows the hits of the message, also when pressed again."""
    receipt = await Answers(app.database).receipt(request.known_chat, action.answer_id or 0)
    return await more_found(request, app, receipt) if receipt else too_old(request)


async def _find_texts(request: Request, app: App) -> Reply:
    words = request.words
    if not request.text:
        text = words.say("Write what to find, such as: {example}", example=words.say(_FIND_EXAMPLE))
        return reply_aside(request, text)
    corpus = app.archive_of(request.known_chat)
    return await _find_page(request, app, request.text, corpus)


FIND = Command(
    name="find",
    summary=marked("find texts by words, phrases and filters, exactly"),
    usage=marked("/find QUERY"),
    example=_FIND_EXAMPLE,
    handler=_find_texts,
    act=COUNTED,
    takes_quoted=True,
)


async def _answer_question(request: Request, app: App) -> Reply:
    words = request.words
    if not request.text:
        text = words.say(
            "Write what you want to know, such as: {example}", example=words.say(_ASK_EXAMPLE)
        )
        return reply_aside(request, text)
    question = cut(request.text, _LONGEST_QUESTION)
    corpus, earlier = app.archive_of(request.known_chat), EarlierQuestions()
    earlier_question = _to_asked_question(request, corpus) if request.place.kept else None
    if earlier_question:
        earlier = await Questions(app.database).earlier(earlier_question)
        earlier = await _choose_context(request, app, earlier)
    request.step(words.say("Searching …"))
    answer = await ask_one(app, question, corpus=corpus, earlier=earlier.texts, now=request.now)
    if earlier_question:
        # What follows it is about the same headline.
        headlines = earlier.texts if earlier.last is None else ()
        remembered = ": ".join((*headlines, question))
        await Questions(app.database).keep(earlier_question, remembered, follows=earlier.last)
    if request.who in app.settings.chat.admins or not request.wants_brief_answer:
        return answer_reply(answer, words)
    return brief_answer_reply(answer, words)


async def _choose_context(
    request: Request, app: App, earlier: EarlierQuestions
) -> EarlierQuestions:
    """Return what a question is to be understood by: those that it follows, or a headline."""
    if earlier.quoted or (request.in_quoted_thread and earlier.texts):
        return earlier
    headline = cut(await _find_headline(request, app, earlier), _LONGEST_CONTEXT)
    named = headline and headline not in request.text
    return EarlierQuestions(texts=(headline,)) if named else earlier


async def _find_headline(request: Request, app: App, earlier: EarlierQuestions) -> str:
    """Return the headline of the message that a question replies to; in private, that of the last
    answer if it is newer than the `earlier` questions. "" if there is none, or a question names
    what else it is about."""
    answers, chat, quoted = Answers(app.database), request.known_chat, request.quoted
    if names_another_subject(request.text):
        return ""
    if quoted.message and request.quoted_event:
        answer = await answers.about(chat, quoted.message, request.quoted_event, now=request.now)
        written = "" if quoted.mine else read_headline(quoted.text).text
        return _name_subject(answer) or written
    if quoted.text or not request.place.private:
        return read_headline(quoted.text).text
    last = await answers.last(chat, request.place.thread)
    since = earlier.asked_at or request.now - _GOES_ON
    return _name_subject(last) if last and last.asked_at >= since else ""


def _name_subject(answer: Answer | Receipt | None) -> str:
    return answer.prophecy.headline.text if isinstance(answer, Answer) else ""


def _to_asked_question(request: Request, corpus: str) -> AskedQuestion:
    return AskedQuestion(
        chat=request.known_chat,
        thread=request.place.thread,
        corpus=corpus,
        now=request.now,
        event_id=request.answered_event,
        # Many people may speak as one chat.
        person=None if request.person.as_chat else request.who,
        quoted_id=request.quoted.message,
        quoted_event=request.quoted_event,
    )


ASK = Command(
    name="ask",
    summary=marked("answer a question from what was written, with sources; the next may follow it"),
    usage=marked("/ask QUESTION"),
    example=_ASK_EXAMPLE,
    handler=_answer_question,
    act=SEARCHES,
    takes_quoted=True,
)


_LONGEST_PROMPT = 1000
_COMPOSE_EXAMPLE = marked("/compose Coffee prices")
_COMPOSE = "compose"


async def _compose_tweet(request: Request, app: App) -> Reply | None:
    words = request.words
    if request.revision:
        return None  # what was asked for is being written, or is paid for
    if not request.text:
        text = words.say(
            "Write what the tweet is to be about, such as: {example}",
            example=words.say(_COMPOSE_EXAMPLE),
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
        command = words.write_commands(f"/{_COMPOSE}")
        return reply_aside(
            request, words.say("{command} needs a chat. Use it in one with me.", command=command)
        )
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
    name=_COMPOSE,
    aliases=("tweet",),
    summary=marked("write a tweet in which each claim has a source; nothing is published"),
    usage=marked("/compose PROMPT"),
    example=_COMPOSE_EXAMPLE,
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
