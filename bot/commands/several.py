"""Several headlines in one message: each is answered in a line, with a button for the whole."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from bot.commands.plain_text import MOST_HEADLINES
from bot.commands.services import Services
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.replies.prophecy import hit_view
from bot.reply import Action, Button, ItemView, Reply
from bot.request import Request
from engine.chat import Answer
from engine.errors import PresagioError, SeveralCorpora, StorageError
from engine.search import Prophecy

WHOLE = "whole"  # the button of a headline
_LONGEST_SHOWN = 80

Look = Callable[[Request, Services], Awaitable[Prophecy]]


@dataclass(frozen=True, slots=True)
class _Answered:
    """One of the headlines, and its answer or what kept it from one."""

    number: int
    written: str
    answer: Answer | None = None
    trouble: PresagioError | None = None

    def explain(self, words: Words) -> str:
        """Return why there is no tweet to show."""
        if self.trouble:
            said = words.render(self.trouble.said)
        else:
            said = words.say("No old tweet foretold this.")
        return f"{self.number}. {_shorten_headline(self.written)}: {said}"


async def answer_several(
    request: Request, services: Services, headlines: Sequence[str], look: Look
) -> Reply:
    """Answer the first three headlines of a message, and name those that are left out.

    Raises SeveralCorpora and StorageError.
    """
    asked = [
        _answer(request, services, look, number, written)
        for number, written in enumerate(headlines[:MOST_HEADLINES], start=1)
    ]
    answered = await asyncio.gather(*asked)
    for headline in answered:  # raised only here, as the other searches would go on behind an error
        if isinstance(headline.trouble, SeveralCorpora | StorageError):
            raise headline.trouble
    found = [
        (headline, headline.answer)
        for headline in answered
        if headline.answer and headline.answer.page
    ]
    remarks = [
        headline.explain(request.words)
        for headline in answered
        if not (headline.answer and headline.answer.page)
    ]
    left = []
    if rest := headlines[MOST_HEADLINES:]:
        named = ", ".join(_shorten_headline(written) for written in rest)
        left = [
            request.words.say("I answer three at a time. Left out: {headlines}", headlines=named)
        ]
    # Those without a tweet follow the others, which nothing does that is no notice.
    text, notice = ([], [*remarks, *left]) if found else (remarks, left)
    items = tuple(_item(headline, answer, request) for headline, answer in found)
    signed = len({item.hit.signature for item in items}) > 1
    more = request.words.say("More")
    return Reply(
        words=request.words,
        shows=found[0][1] if found else None,
        items=tuple(replace(item, hit=replace(item.hit, signed=signed)) for item in items),
        text="\n".join(text) or None,
        notice="\n".join(notice) or None,
        buttons=(
            tuple(
                Button(
                    label=f"{headline.number}. {more}",
                    action=Action(name=WHOLE, answer_id=answer.id, value="0"),
                )
                for headline, answer in found
            ),
        )
        if found and request.place.kept
        else (),
    )


async def _answer(
    request: Request, services: Services, look: Look, number: int, written: str
) -> _Answered:
    try:
        prophecy = await look(replace(request, text=written), services)
    except PresagioError as error:
        return _Answered(number, written, trouble=error)
    answer = Answer(prophecy=prophecy, asked_at=request.now, first=0, last=services.searches.limit)
    if request.place.kept:
        kept = await services.stores.answers.keep(
            request.known_chat, request.place.thread, answer, event_id=request.answered_event
        )
        answer = replace(answer, id=kept)
    return _Answered(number, written, answer)


def _item(headline: _Answered, answer: Answer, request: Request) -> ItemView:
    read = answer.prophecy.headline
    view = hit_view(answer.page[0], read.date or request.now, request.words)
    return ItemView(
        headline=_shorten_headline(read.text or headline.written),
        link=None,
        hit=replace(view, rank=headline.number, small=True, why=None),
    )


def _shorten_headline(written: str) -> str:
    return cut(" ".join(written.split()), _LONGEST_SHOWN)
