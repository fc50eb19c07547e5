"""Several headlines in one message: each is answered in a line, with a button for the whole."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from bot.commands.plain_text import MOST_HEADLINES
from bot.commands.services import Services
from bot.commands.why import WHOLE
from bot.replies.buttons import answer_button
from bot.replies.limits import cut
from bot.replies.prophecy import hit_view, say_unjudged
from bot.reply import Button, ItemView, Reply
from bot.request import Request
from engine.chat import Answer
from engine.errors import PresagioError, SeveralCorpora, StorageError
from engine.search import Prophecy

_LONGEST_SHOWN = 80
_OF_ALL = (SeveralCorpora, StorageError)  # not of one headline

Look = Callable[[Request, Services], Awaitable[Prophecy]]


async def answer_several(
    request: Request, services: Services, headlines: Sequence[str], look: Look
) -> Reply:
    """Answer the first three headlines of a message, and name those that are left out.

    Raises SeveralCorpora and StorageError.
    """
    words, written = request.words, headlines[:MOST_HEADLINES]
    looks = (look(replace(request, text=headline), services) for headline in written)
    # Raised only when all are done, as the other searches would go on behind an error.
    outcomes = await asyncio.gather(*looks, return_exceptions=True)
    kept, remarks = list[Answer](), list[str]()
    for headline, outcome in zip(written, outcomes, strict=True):
        if not isinstance(outcome, BaseException):
            kept.append(await _keep(outcome, request, services))
        elif isinstance(outcome, PresagioError) and not isinstance(outcome, _OF_ALL):
            remarks.append(f"{_shorten_headline(headline)}: {words.render(outcome.said)}")
        else:
            raise outcome
    numbered = list(enumerate(kept, start=1))
    found = [(number, answer) for number, answer in numbered if answer.page]
    nothing = words.say("No old tweet foretold this.")
    remarks = [
        *(
            f"{number}. {_name_headline(answer)}: {nothing}"
            for number, answer in numbered
            if not answer.page
        ),
        *remarks,
    ]
    unjudged = (say_unjudged(answer.prophecy, words) for _, answer in found)
    remarks += dict.fromkeys(filter(None, unjudged))  # once
    if rest := headlines[MOST_HEADLINES:]:
        named = ", ".join(map(_shorten_headline, rest))
        left_out = words.say("I answer three at a time. Left out: {headlines}", headlines=named)
        remarks.append(left_out)
    items = [_item(number, answer, request) for number, answer in found]
    signed = len({item.hit.signature for item in items}) > 1
    said = "\n".join(remarks) or None
    return Reply(
        words=words,
        shows=found[0][1] if found else None,
        items=tuple(replace(item, hit=replace(item.hit, signed=signed)) for item in items),
        # What has no tweet follows the others, which only a notice does.
        text=None if found else said,
        notice=said if found else None,
        buttons=_buttons(found, request),
    )


async def _keep(prophecy: Prophecy, request: Request, services: Services) -> Answer:
    """Store an answer of which the first tweet is shown, after those to earlier headlines."""
    answer = Answer(prophecy=prophecy, asked_at=request.now, first=0, last=1)
    if not request.place.kept:
        return answer
    kept = await services.stores.answers.keep(
        request.known_chat, request.place.thread, answer, event_id=request.answered_event
    )
    return replace(answer, id=kept)


def _buttons(
    found: Sequence[tuple[int, Answer]], request: Request
) -> tuple[tuple[Button, ...], ...]:
    more = request.words.say("More")
    row = tuple(answer_button(answer, f"{number}. {more}", WHOLE, 0) for number, answer in found)
    return (row,) if row and request.place.kept else ()


def _item(number: int, answer: Answer, request: Request) -> ItemView:
    date = answer.prophecy.headline.date or request.now
    view = hit_view(answer.page[0], date, request.words)
    return ItemView(
        headline=_name_headline(answer),
        link=None,
        hit=replace(view, rank=number, small=True, why=None),
    )


def _name_headline(answer: Answer) -> str:
    headline = answer.prophecy.headline
    return _shorten_headline(headline.text or headline.original)


def _shorten_headline(written: str) -> str:
    return cut(" ".join(written.split()), _LONGEST_SHOWN)
