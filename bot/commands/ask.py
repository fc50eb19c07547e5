"""/ask: a question in a chat, answered from its corpus with sources."""

from bot.commands.registry import Command, Services
from bot.commands.rights import SEARCHES
from bot.face.reply import Reply, aside
from bot.face.request import Request
from bot.i18n.words import marked
from bot.replies.answer import answer_reply
from bot.replies.limits import cut
from engine.errors import CorpusNotFound
from engine.messages import Message

_LONGEST_QUESTION = 1000
_EXAMPLE = marked("/ask What was said about coffee prices?")


async def _ask(request: Request, services: Services) -> Reply:
    words = request.words
    if not request.text:
        text = words.say(
            "Write what you want to know, such as: {example}", example=words.say(_EXAMPLE)
        )
        return aside(request, text)
    chat, thread = request.known_chat, request.place.thread
    question = cut(request.text, _LONGEST_QUESTION)
    kept = request.place.kept
    corpus, now = chat.corpus or services.corpus, request.now
    earlier: tuple[str, ...] = ()
    if kept:
        earlier = await services.questions.last(chat, thread, corpus=corpus, now=now)
    try:
        answer = await services.ask(question, corpus=corpus, earlier=earlier, now=now)
    except CorpusNotFound as error:
        raise CorpusNotFound(error.message, fix=Message("See /corpus.")) from error
    if kept:
        await services.questions.keep(chat, thread, question, corpus=corpus, now=now)
    return answer_reply(answer, words)


ASK = Command(
    name="ask",
    summary=marked("answer a question from what was written, with sources; the next may follow it"),
    usage=marked("/ask QUESTION"),
    example=_EXAMPLE,
    handler=_ask,
    act=SEARCHES,
)
