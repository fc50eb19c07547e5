"""/find: the query dialect in a chat."""

from bot.commands.registry import Command, Services
from bot.commands.rights import SEARCHES
from bot.face.reply import Reply, aside
from bot.face.request import Request
from bot.i18n.words import marked
from bot.replies.find import find_reply
from engine.contracts.receipts import Receipt
from engine.errors import CorpusNotFound
from engine.messages import Message

_SHOWN = 5
_LONGEST_TEXT = 280
_EXAMPLE = marked('/find "coffee prices" OR tea -free before:2015')


async def _find(request: Request, services: Services) -> Reply:
    words = request.words
    if not request.text:
        text = words.say("Write what to find, such as: {example}", example=words.say(_EXAMPLE))
        return aside(request, text)
    corpus = request.known_chat.corpus or services.corpus
    try:
        found = await services.find(request.text, corpus=corpus, limit=_SHOWN)
    except CorpusNotFound as error:
        raise CorpusNotFound(error.message, fix=Message("See /corpus.")) from error
    if request.place.kept:
        await services.answers.keep_receipt(
            request.known_chat, request.place.thread, Receipt.of(found), asked_at=request.now
        )
    return find_reply(found, words, longest=_LONGEST_TEXT)


FIND = Command(
    name="find",
    summary=marked("find texts by words, phrases and filters, exactly"),
    usage=marked("/find QUERY"),
    example=_EXAMPLE,
    handler=_find,
    act=SEARCHES,
)
