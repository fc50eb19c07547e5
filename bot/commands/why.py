"""/why: explains the answer that it replies to, or the last one."""

from collections.abc import Sequence
from dataclasses import replace

from bot.commands.registry import Command, nothing_yet, too_old
from bot.commands.rights import LOOKS
from bot.commands.services import Services
from bot.face.reply import Action, Reply, aside
from bot.face.request import Request
from bot.i18n.words import marked
from bot.replies.find_receipt import find_reasons, find_receipt
from bot.replies.reasons import reasons
from bot.replies.receipt import candidates_line, receipt
from engine.chat import Answer
from engine.contracts.receipts import Receipt
from engine.search import Hit, Prophecy


async def _why(request: Request, services: Services) -> Reply:
    if button := _replied_to(request):
        shown = await _shown_with(button, request, services)
        return await _why_answer(request, shown, services) if shown else too_old(request)
    answer = await services.answers.last(request.known_chat, request.place.thread)
    found = await services.answers.last_receipt(request.known_chat, request.place.thread)
    if found and (answer is None or found[1] > answer.asked_at):
        return _why_found(request, found[0])
    return await _why_answer(request, answer, services) if answer else nothing_yet(request)


def _replied_to(request: Request) -> Action | None:
    """Return the button "Why?" of the message that this one replies to, if it has one."""
    actions = [action for one in request.quoted_buttons if (action := Action.parse(one))]
    return next((one for one in actions if one.name == _NAME), None)


async def _shown_with(action: Action, request: Request, services: Services) -> Answer | None:
    """Return the page of an answer that a button stands under, or None if it is gone."""
    answer = await services.answers.get(request.known_chat, action.answer_id or 0)
    return answer.page_named(action.value) if answer else None


async def _why_answer(request: Request, answer: Answer, services: Services) -> Reply:
    if posted := await services.answers.posted_with(answer):
        return _why_posted(request, posted)
    shown = answer.seen
    chosen = [hit for hit in shown if str(hit.rank) == request.text]
    if request.text and not chosen:
        return _shown(request, [hit.rank for hit in shown])
    text = _explained(answer.prophecy, chosen or answer.page, request)
    return Reply(words=request.words, text=text)


def _why_posted(request: Request, posted: Sequence[Answer]) -> Reply:
    """Explain a post, or the item of it with the number in the request."""
    numbered = {str(number): answer for number, answer in enumerate(posted, start=1)}
    if request.text and request.text not in numbered:
        return _shown(request, range(1, len(posted) + 1))
    chosen = [numbered[request.text]] if request.text else posted
    texts = [
        f"{one.prophecy.headline.text}\n{_explained(one.prophecy, one.page, request)}"
        for one in chosen
    ]
    return Reply(words=request.words, text="\n\n".join(texts))


def _explained(prophecy: Prophecy, hits: Sequence[Hit], request: Request) -> str:
    """Return the reasons in words, followed by the numbers if the chat wants full answers."""
    words = request.words
    said = reasons(prophecy, hits, request.now, words) or candidates_line(prophecy, words)
    full = request.known_chat.full_answers
    return f"{said}\n\n{receipt(prophecy, hits, words)}" if full else said


def _why_found(request: Request, found: Receipt) -> Reply:
    """Explain the answer to a query."""
    words = request.words
    chosen = [hit for hit in found.hits if request.text in ("", str(hit.rank))]
    if request.text and not chosen:
        return _shown(request, [hit.rank for hit in found.hits])
    full = request.known_chat.full_answers
    explain = find_receipt if full else find_reasons
    return Reply(words=words, text=explain(found, chosen, words))


def _shown(request: Request, ranks: Sequence[int]) -> Reply:
    numbers = ", ".join(map(str, ranks)) or "-"
    text = request.words.say("I showed {numbers}. Ask /why or /why NUMBER.", numbers=numbers)
    return aside(request, text)


async def _pressed(request: Request, action: Action, services: Services) -> Reply:
    page = await _shown_with(action, request, services)
    if page is None:
        return too_old(request)
    posted = await services.answers.posted_with(page)
    if posted and page.page == page.page[:1]:
        if request.known_chat.full_answers:  # where each story has a button
            posted = [one for one in posted if one.id == page.id]
        unnumbered = replace(request, text="")  # what it holds is the action
        return replace(_why_posted(unnumbered, posted), ephemeral=True)
    text = _explained(page.prophecy, page.page, request)
    return Reply(words=request.words, text=text, ephemeral=True)


_NAME = "why"
WHY = Command(
    name=_NAME,
    summary=marked("explain the last answer, or one tweet of it"),
    usage=marked("/why [NUMBER]"),
    example="/why 2",
    details=(marked("In reply to an answer it explains that one, not the last."),),
    handler=_why,
    act=LOOKS,
    actions={_NAME: _pressed},
)
