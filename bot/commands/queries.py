"""/find and /ask: queries of the dialect, and questions answered with sources."""

from dataclasses import replace

from bot.commands.addressing import goes_on_asking
from bot.commands.archives import points_to_corpora
from bot.commands.prophecy import found_page, is_compact, name_longest_step
from bot.commands.registry import Command
from bot.commands.rights import SEARCHES
from bot.commands.services import Services
from bot.i18n.words import marked
from bot.replies.find import answer_reply, brief_answer_reply
from bot.replies.limits import cut
from bot.reply import Reply, aside
from bot.request import Request, Trigger
from db.chat.answers import AskedQuestion, EarlierQuestions, Questions

_FIND_EXAMPLE = marked('/find "coffee prices" OR tea -free before:2015')
_LONGEST_QUESTION = 1000
_ASK_EXAMPLE = marked("/ask What was said about coffee prices?")


async def _find(request: Request, services: Services) -> Reply:
    words = request.words
    if not request.text:
        text = words.say("Write what to find, such as: {example}", example=words.say(_FIND_EXAMPLE))
        return aside(request, text)
    corpus = services.archives.name_for(request.known_chat)
    return await found_page(request, services, request.text, corpus)


FIND = Command(
    name="find",
    summary=marked("find texts by words, phrases and filters, exactly"),
    usage=marked("/find QUERY"),
    example=_FIND_EXAMPLE,
    handler=_find,
    act=SEARCHES,
    takes_quoted=True,
)


async def name_question(request: Request, questions: Questions) -> Request:
    """Return a request in which a question in reply to the answer to another is that command.

    Raises StorageError.
    """
    to_me = request.trigger in (Trigger.ADDRESSED, Trigger.REPLY) and request.place.kept
    quoted, event = request.quoted.message, request.quoted_event
    if not (to_me and quoted and event) or request.command_call or not goes_on_asking(request):
        return request
    place = request.place
    follows = await questions.is_about_question(
        place.platform, place.chat_id, quoted, event, now=request.now
    )
    return replace(request, text=f"/{ASK.name} {request.text}") if follows else request


async def _ask(request: Request, services: Services) -> Reply:
    words = request.words
    if not request.text:
        text = words.say(
            "Write what you want to know, such as: {example}", example=words.say(_ASK_EXAMPLE)
        )
        return aside(request, text)
    question = cut(request.text, _LONGEST_QUESTION)
    corpus, earlier = services.archives.name_for(request.known_chat), EarlierQuestions()
    asked = _to_asked_question(request, corpus) if request.place.kept else None
    if asked:
        earlier = await services.stores.questions.earlier(asked)
    request.step(name_longest_step(request, services))
    with points_to_corpora():
        answer = await services.searches.ask(
            question, corpus=corpus, earlier=earlier.texts, now=request.now
        )
    if asked:
        await services.stores.questions.keep(asked, question, follows=earlier.last)
    if request.who in services.access.admins or not is_compact(request):
        return answer_reply(answer, words)
    return brief_answer_reply(answer, words)


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
    handler=_ask,
    act=SEARCHES,
    takes_quoted=True,
)
