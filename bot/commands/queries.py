"""/find and /ask: queries of the dialect, and questions answered with sources."""

from dataclasses import replace
from datetime import timedelta

from bot.app import App
from bot.commands.archives import points_to_corpora
from bot.commands.dialogue_acts import names_another_subject
from bot.commands.registry import Command, too_old
from bot.commands.rights import COUNTED, SEARCHES
from bot.i18n.words import marked
from bot.queries.ask import ask_one
from bot.queries.find import find
from bot.replies.find import answer_reply, brief_answer_reply, brief_find_reply, find_reply
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, reply_aside
from bot.request import Request
from db.chat.answers import Answers, AskedQuestion, EarlierQuestions, Questions
from engine.chat import Answer
from engine.contracts.results import Receipt
from engine.prophecy.headline import read_headline

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
    with points_to_corpora():
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
    with points_to_corpora():
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
