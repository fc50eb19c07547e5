"""The pages of a query's answer: the first for /find, the next ones for /more."""

from bot.commands.services import Services
from bot.face.reply import Reply, aside
from bot.face.request import Request
from bot.replies.find import brief_find_reply, find_reply
from engine.contracts.receipts import Receipt
from engine.errors import CorpusNotFound, SeveralCorpora
from engine.messages import Message

_SHOWN = 5
_LONGEST_TEXT = 280


async def found_page(
    request: Request, services: Services, query: str, corpus: str, *, after: int = 0
) -> Reply:
    """Return the hits of a query beyond rank `after`, and store the receipt of all so far.

    The query is made again for each page, by words and without a model. Raises PresagioError.
    """
    try:
        found = await services.find(query, corpus=corpus, limit=after + _SHOWN)
    except SeveralCorpora:
        raise
    except CorpusNotFound as error:
        raise CorpusNotFound(error.message, fix=Message("See /corpus.")) from error
    if after and len(found.hits) <= after:
        return aside(request, request.words.say("That is all I found."))
    if request.place.kept:
        await services.answers.keep_receipt(
            request.known_chat,
            request.place.thread,
            Receipt.of(found),
            asked_at=request.now,
            event_id=request.answered_event,
        )
    if is_compact(request) or after:
        return brief_find_reply(found, request.words, longest=_LONGEST_TEXT, after=after)
    return find_reply(found, request.words, longest=_LONGEST_TEXT)


async def more_found(request: Request, services: Services, receipt: Receipt) -> Reply:
    """Return the next page of the query that a receipt is of. Raises PresagioError."""
    return await found_page(
        request, services, receipt.canonical, receipt.corpus, after=len(receipt.hits)
    )


def is_compact(request: Request) -> bool:
    """Return whether answers in this place are short. Inline, the asker's text is not shown."""
    return request.place.kept and not request.known_chat.full_answers
