"""/why and /picture: explain and draw the answer that they reply to, or the last one."""

from collections.abc import Sequence
from dataclasses import replace

from bot.adapter import traits_of
from bot.app import App
from bot.commands.registry import Command, find_answer, find_page, nothing_yet, too_old
from bot.commands.rights import COUNTED, LOOKS
from bot.commands.votes import page_of
from bot.i18n.words import marked
from bot.jobs.content import draw_picture
from bot.replies.buttons import SHARE, WRITE
from bot.replies.picture import picture_answer
from bot.replies.receipt import find_reasons, find_receipt, list_reasons, render_receipt
from bot.reply import Action, HitView, Reply, reply_aside
from bot.request import Request, Trigger
from db.chat.answers import Answers
from db.chat.chats import Quotas
from engine.chat import Answer
from engine.contracts.results import Receipt
from engine.errors import UsageError
from engine.messages import Message
from engine.search import Hit

# The buttons that stand under an answer, by what their value tells: the index of the first hit of
# the page, or the rank of a hit of it.
_OF_PAGES = frozenset({"why", "picture", WRITE})
_OF_HITS = frozenset({"up", "down", "votes", "back", SHARE})
WHOLE = "whole"  # below the answer to several headlines, for all of one of them
_BELOW_ANSWERS = _OF_PAGES | _OF_HITS | {WHOLE}
IN_REPLY = marked("In reply to an answer it is about that one, not the last.")
_NAME = "why"


async def _explain_meant_answer(request: Request, app: App) -> Reply | None:
    meant = await meant_answer(request, app)
    if meant is None:
        return nothing_yet(request)
    if isinstance(meant, Receipt):
        await _remember_explained(request, meant, app)
        return _why_found(request, meant)
    return await _why_answer(request, meant, app)


async def meant_answer(
    request: Request, app: App, *, finds: bool = True
) -> Answer | Receipt | None:
    """Return the answer, or the receipt of the query, that a request is about, or None.

    It is the one that the request replies to, else the last one; without `finds` that of a query
    only if it is replied to. In a thread below an answer, what was asked there since goes first.
    A word without a slash in reply to something else ("why?") is about that alone. Raises
    UsageError if the one replied to is gone.
    """
    if request.in_quoted_thread:
        last = await _last_answer(request, app, finds=finds)
        return last or await _quoted_answer(request, app)
    quoted = await _quoted_answer(request, app)
    if quoted or request.trigger is Trigger.REPLY:
        return quoted
    return await _last_answer(request, app, finds=finds)


async def _last_answer(request: Request, app: App, *, finds: bool) -> Answer | Receipt | None:
    answer = await Answers(app.database).last(request.known_chat, request.place.thread)
    if not finds:
        return answer
    receipt = await Answers(app.database).last_receipt(request.known_chat, request.place.thread)
    return receipt[0] if receipt and (answer is None or receipt[1] > answer.asked_at) else answer


async def _quoted_answer(request: Request, app: App) -> Answer | Receipt | None:
    """Return what the message replied to shows: by its buttons, else by what it answered."""
    actions = [action for pressed in request.quoted.buttons if (action := Action.parse(pressed))]
    button = next((offered for offered in actions if offered.name in _BELOW_ANSWERS), None)
    if button:
        answer = await find_answer(request, button, app)
        page = _page_above(button, answer) if answer else None
        if page is None:
            raise UsageError(Message("That answer is too old."))
        return page
    message, event = request.quoted.message, request.quoted_event
    if message is None or event is None:
        return None
    return await Answers(app.database).about(request.known_chat, message, event, now=request.now)


def _page_above(button: Action, answer: Answer) -> Answer | None:
    """Return the page of an answer that one of its buttons stands under, or None."""
    if button.name == WHOLE:
        return replace(answer, first=0, last=1)
    if button.name in _OF_PAGES:
        return answer.page_named(button.value)
    written = button.value.partition(".")[0]
    rank = next((hit.rank for hit in answer.prophecy.hits if str(hit.rank) == written), None)
    return page_of(answer, rank) if rank else None


async def _remember_explained(request: Request, receipt: Receipt, app: App) -> None:
    """Let what replies to the explanation of a query be about that query."""
    if request.place.kept:
        await Answers(app.database).keep_receipt(
            request.known_chat,
            request.place.thread,
            receipt,
            asked_at=request.now,
            event_id=request.answered_event,
        )


async def _why_answer(request: Request, answer: Answer, app: App) -> Reply:
    """Explain an answer; what replies to the explanation is about that answer too."""
    if stories := await list_stories(answer, app):
        return replace(_why_stories(request, stories), shows=answer)
    hits = answer.shown_hits
    selected = [hit for hit in hits if str(hit.rank) == request.text]
    if request.text and not selected:
        return _refuse_ranks(request, [hit.rank for hit in hits])
    text = _explain_hits(answer, selected or answer.page, request)
    return Reply(words=request.words, text=text, shows=answer)


async def list_stories(answer: Answer, app: App) -> Sequence[Answer]:
    """Return the answers that one message showed under the numbers from 1: those of a post, or
    those to several headlines; else none."""
    answers = Answers(app.database)
    return await answers.posted_with(answer) or await answers.asked_with(answer)


def _why_stories(request: Request, stories: Sequence[Answer]) -> Reply:
    """Explain what a message showed of several headlines, or of that with the number asked for."""
    numbered = {str(number): answer for number, answer in enumerate(stories, start=1)}
    if request.text and request.text not in numbered:
        return _refuse_ranks(request, range(1, len(stories) + 1))
    selected = {request.text: numbered[request.text]} if request.text else numbered
    texts = [_explain_story(number, answer, request) for number, answer in selected.items()]
    return Reply(words=request.words, text="\n\n".join(texts))


def _explain_story(number: str, answer: Answer, request: Request) -> str:
    """Return the headline of a story, and the reasons under the number that it has in the post."""
    hits = [replace(hit, rank=int(number)) for hit in answer.page]
    return f"{answer.prophecy.headline.text}\n{_explain_hits(answer, hits, request)}"


def _explain_hits(answer: Answer, hits: Sequence[Hit], request: Request) -> str:
    """Return the reasons in words, followed by the numbers if the chat wants full answers."""
    words, prophecy = request.words, answer.prophecy
    sentence = list_reasons(prophecy, hits, answer.asked_at, words)
    full = request.known_chat.full_answers
    return f"{sentence}\n\n{render_receipt(prophecy, hits, words)}" if full else sentence


async def show_sources(request: Request, app: App, *, rank: int | None) -> Reply | None:
    """Repeat who wrote what an answer shows, when, and where it stands; or of one text alone."""
    meant = await meant_answer(request, app, finds=False)
    if not isinstance(meant, Answer):
        return nothing_yet(request)
    pages = await list_stories(meant, app)
    hits = {number: page.page[0] for number, page in enumerate(pages, start=1) if page.page}
    hits = hits or {hit.rank: hit for hit in meant.page}
    hits = {rank: hits[rank]} if rank in hits else hits
    lines = [line for number, hit in hits.items() for line in _list_source(number, hit, request)]
    if not lines:
        return _refuse_ranks(request, ())
    return Reply(words=request.words, text="\n".join(lines), inert=True, shows=meant)


def _list_source(number: int, hit: Hit, request: Request) -> list[str]:
    """Return the author and date of a text, and on a line of its own its address."""
    view = HitView.of(hit.candidate, request.words, rank=number, text="")
    described = " · ".join(filter(None, (view.signature, view.date_text)))
    return [f"{number}. {described}", *filter(None, [view.url])]


def _why_found(request: Request, receipt: Receipt) -> Reply:
    """Explain the answer to a query."""
    words = request.words
    selected = [hit for hit in receipt.hits if request.text in ("", str(hit.rank))]
    if request.text and not selected:
        return _refuse_ranks(request, [hit.rank for hit in receipt.hits])
    full = request.known_chat.full_answers
    explain = find_receipt if full else find_reasons
    return Reply(words=words, text=explain(receipt, selected, words))


def _refuse_ranks(request: Request, ranks: Sequence[int]) -> Reply:
    numbers = ", ".join(map(str, ranks))
    if not numbers:
        return reply_aside(request, request.words.say("Nothing foretold this."))
    text = request.words.say("I showed {numbers}. Ask /why or /why NUMBER.", numbers=numbers)
    return reply_aside(request, text)


async def _press_why(request: Request, action: Action, app: App) -> Reply:
    page = await find_page(request, action, app)
    if page is None:
        return too_old(request)
    # Where everybody reads the reasons, they are not told again to the next who presses.
    if not (request.place.private or traits_of(request.place.platform).shows_privately):
        pressed = await Quotas(app.database).use(f"{_NAME}:{action}", now=request.now)
        if pressed > 1:
            return reply_aside(request, request.words.say("I have told the reasons here today."))
    posted = await Answers(app.database).posted_with(page)
    if posted and page.page == page.page[:1]:
        number = ""
        if request.known_chat.full_answers:  # where each story has a button
            ids = [answer.id for answer in posted]
            number = str(ids.index(page.id) + 1) if page.id in ids else ""
        # What the text holds is the action.
        reply = _why_stories(replace(request, text=number), posted)
        return replace(reply, ephemeral=True, shows=page)
    text = _explain_hits(page, page.page, request)
    return Reply(words=request.words, text=text, ephemeral=True, shows=page)


WHY = Command(
    name=_NAME,
    summary=marked("explain the last answer, or one tweet of it"),
    usage=marked("/why [NUMBER]"),
    example="/why 2",
    details=(
        IN_REPLY,
        marked(
            "foretold: a tweet said it before it happened; close: a model found it near to the"
            " news, but no prediction; perhaps: it shares words, and no model has judged it."
        ),
    ),
    handler=_explain_meant_answer,
    act=LOOKS,
    actions={_NAME: _press_why},
)


async def _show_picture(request: Request, app: App) -> Reply | None:
    answer = await meant_answer(request, app, finds=False)
    if isinstance(answer, Receipt):
        return reply_aside(request, request.words.say("Nothing foretold this."))
    if answer is None:
        return nothing_yet(request)
    pages = await numbered_pages(answer, app)
    first = answer if answer.page else next(iter(pages.values()), None)
    if page := pages.get(request.text) if request.text else first:
        return await _draw_picture(request, page, app)
    if not pages:
        return reply_aside(request, request.words.say("Nothing foretold this."))
    text = request.words.say("I showed {numbers}. Ask /picture NUMBER.", numbers=", ".join(pages))
    return reply_aside(request, text)


async def numbered_pages(answer: Answer, app: App) -> dict[str, Answer]:
    """Return the pages that show one hit each, by the numbers that people saw.

    In a post, and of several headlines, these are the numbers of its items, else the ranks of the
    hits; near texts have none.
    """
    if stories := await list_stories(answer, app):
        numbered = enumerate(stories, start=1)
        return {str(number): page for number, page in numbered if page.page}
    return {
        str(hit.rank): replace(answer, first=first, last=first + 1)
        for first, hit in enumerate(answer.prophecy.hits[: answer.last])
    }


async def _picture_pressed(request: Request, action: Action, app: App) -> Reply:
    page = await find_page(request, action, app)
    return await _draw_picture(request, page, app) if page else too_old(request)


async def _draw_picture(request: Request, answer: Answer, app: App) -> Reply:
    if answer.is_near:
        return reply_aside(request, request.words.say("Nothing foretold this."))
    stories = await list_stories(answer, app)
    number = next((n for n, story in enumerate(stories, start=1) if story.id == answer.id), None)
    subject = replace(picture_answer(answer), number=number)
    return replace(await draw_picture(app, subject, request.words), shows=answer)


PICTURE = Command(
    name="picture",
    summary=marked("draw the first tweet of the last answer, or another one of it"),
    usage=marked("/picture [NUMBER]"),
    example="/picture",
    details=(IN_REPLY,),
    handler=_show_picture,
    act=COUNTED,
    actions={"picture": _picture_pressed},
)
