"""/why, /picture and /top, and votes: what people do with an answer that they were shown."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from bot.app import App
from bot.commands.registry import Command, find_answer, find_page, nothing_yet, too_old
from bot.commands.rights import COUNTED, LOOKS, Act, Effect
from bot.i18n.words import LANGUAGES, Words, marked, words_for
from bot.jobs.content import draw_picture
from bot.replies.buttons import (
    OWN,
    SHARE,
    WRITE,
    answer_buttons,
    post_buttons,
    share_buttons,
    vote_pair,
)
from bot.replies.limits import cut
from bot.replies.picture import picture_answer
from bot.replies.prophecy import hit_view
from bot.replies.receipt import find_reasons, find_receipt, list_reasons, render_receipt
from bot.reply import VOTE_UP, Action, Button, HitView, ItemView, Reply, reply_aside
from bot.request import Request, Trigger, traits_of
from db.chat.answers import Answers
from db.chat.chats import Quotas
from engine.chat import Answer, Chat, Tally
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
    if isinstance(meant, Answer):
        return await _why_answer(request, meant, app)
    if request.place.kept:  # so that what replies to the explanation is about that query too
        await Answers(app.database).keep_receipt(
            request.known_chat,
            request.place.thread,
            meant,
            asked_at=request.now,
            event_id=request.answered_event,
        )
    return _why_found(request, meant)


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
    texts = []
    for number, answer in selected.items():
        hits = [replace(hit, rank=int(number)) for hit in answer.page]
        explained = _explain_hits(answer, hits, request)
        texts.append(f"{answer.prophecy.headline.text}\n{explained}")
    return Reply(words=request.words, text="\n\n".join(texts))


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
    if not hits:
        return _refuse_ranks(request, ())
    lines = []
    for number, hit in hits.items():
        view = HitView.of(hit.candidate, request.words, rank=number, text="")
        described = " · ".join(filter(None, (view.signature, view.date_text)))
        # An address is a link on a line of its own.
        lines += [f"{number}. {described}", *filter(None, [view.url])]
    return Reply(words=request.words, text="\n".join(lines), inert=True, shows=meant)


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
    # Where everybody reads the reasons, they are shown once, whoever presses the button next.
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


Rows: TypeAlias = tuple[tuple[Button, ...], ...]

_SHOWN = 5
_LONGEST_HEADLINE, _LONGEST_TEXT, _LONGEST_LINE = 150, 280, 100


async def _press_vote(request: Request, action: Action, app: App, *, value: int) -> Reply:
    """Count one vote per person and hit, and show the counts on the buttons.

    The same vote again withdraws it.
    """
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    answer, rank, shown_in = voted
    words, answers = request.words, Answers(app.database)
    withdrawn = await answers.withdraw(answer, rank, request.who, value)
    if not withdrawn:
        await answers.vote(answer, rank, request.who, value)
    toast = words.say("Withdrawn.") if withdrawn else words.say("Noted.")
    if action.value.endswith(f".{OWN}"):
        return replace(await _build_ballot(request, answer, rank, app), replaces=True, toast=toast)
    buttons = await _vote_buttons(request.known_chat, answer, rank, app, shown_in)
    return Reply(words=words, toast=toast, buttons=buttons, replaces=True)


async def _vote_buttons(chat: Chat, answer: Answer, rank: int, app: App, words: Words) -> Rows:
    """Return the buttons of the message that shows a hit, with its votes."""
    compact = not chat.full_answers
    writes, platform = app.client is not None, chat.platform
    answers = Answers(app.database)
    if posted := await _posted_together(answer, rank, app):
        counts = {post.id: await answers.tallies(post) for post in posted}
        return post_buttons(
            posted, counts, words, platform=platform, compact=compact, writes=writes
        )
    tallies = await answers.tallies(answer)
    page = page_of(answer, rank)
    return answer_buttons(page, tallies, words, platform=platform, compact=compact, writes=writes)


async def _posted_together(answer: Answer, rank: int, app: App) -> list[Answer]:
    """Return the answers of the post that showed a hit; none if it was an answer that did."""
    posted = await Answers(app.database).posted_with(answer)
    return (
        posted if any(post.id == answer.id and post.page[0].rank == rank for post in posted) else []
    )


async def _build_ballot(request: Request, answer: Answer, rank: int, app: App) -> Reply:
    """Return the hits of a message after the first, each with its vote buttons."""
    words, answers = request.words, Answers(app.database)
    posted = await _posted_together(answer, rank, app)
    page = page_of(answer, rank)
    places = (
        [(number, post, post.page[0]) for number, post in enumerate(posted, start=1)]
        if posted
        else [(hit.rank, page, hit) for hit in page.page]
    )[1:]
    lines, rows = [words.say("Your votes on the others:")], []
    for number, post, hit in places:
        lines.append(f"{number}. {cut(' '.join(hit.candidate.text.split()), _LONGEST_LINE)}")
        tally = (await answers.tallies(post)).get(hit.rank, Tally())
        votable = (number, post, hit.rank, tally)
        rows.append(vote_pair(votable, words.language, numbered=True, view=OWN))
    return Reply(words=words, text="\n".join(lines), buttons=tuple(rows), ephemeral=True)


async def _show_ballot(request: Request, action: Action, app: App) -> Reply:
    """Show the vote buttons of the other hits of the message to whoever asks."""
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    answer, rank, _ = voted
    if traits_of(request.place.platform).shows_privately:
        return await _build_ballot(request, answer, rank, app)
    return await _restore_buttons(request, action, app)  # a button of an earlier version


async def _restore_buttons(request: Request, action: Action, app: App) -> Reply:
    """Show the message's own buttons again."""
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    buttons = await _vote_buttons(request.known_chat, *voted[:2], app, voted[2])
    return Reply(words=request.words, buttons=buttons, replaces=True)


async def _show_share_buttons(request: Request, action: Action, app: App) -> Reply:
    """Show the buttons for what can be made of the message."""
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    answer, rank, words = voted
    buttons = share_buttons(page_of(answer, rank), words)
    return Reply(words=request.words, buttons=buttons, replaces=True)


async def _voted_on(request: Request, action: Action, app: App) -> tuple[Answer, int, Words] | None:
    """Return the answer, the rank of the hit, and the words of the buttons; None if it is gone."""
    answer = await find_answer(request, action, app)
    written, _, language = action.value.removesuffix(f".{OWN}").partition(".")
    ranks = {str(hit.rank): hit.rank for hit in answer.prophecy.hits} if answer else {}
    rank = ranks.get(written)
    if answer is None or rank is None or language not in LANGUAGES:
        return None
    return answer, rank, words_for(language)


def page_of(answer: Answer, rank: int) -> Answer:
    """Return the page of the answer that the message with the button of `rank` showed."""
    size = answer.last - answer.first
    return answer.page_at((rank - 1) // size * size)


async def _list_favourites(request: Request, app: App) -> Reply:
    words = request.words
    favourites = await Answers(app.database).favourites(request.known_chat, _SHOWN)
    if not favourites:
        return reply_aside(request, words.say("No prophecy of this chat has a vote yet."))
    items = []
    for place, favourite in enumerate(favourites, start=1):
        headline, tally = favourite.headline, favourite.tally
        view = hit_view(favourite.hit, headline.date or favourite.asked_at, words)
        text = cut(view.text, _LONGEST_TEXT)
        item = ItemView(
            headline=f"{cut(headline.text, _LONGEST_HEADLINE)}  👍 {tally.up} 👎 {tally.down}",
            link=None,
            hit=replace(view, rank=place, text=text, why=None, small=True),
        )
        items.append(item)
    return Reply(
        words=words, text=words.say("The best prophecies of this chat:"), items=tuple(items)
    )


TOP = Command(
    name="top",
    summary=marked("the best-voted prophecies of this chat"),
    usage="/top",
    example="/top",
    handler=_list_favourites,
    act=LOOKS,
    actions={
        VOTE_UP: partial(_press_vote, value=1),
        "down": partial(_press_vote, value=-1),
        "votes": _show_ballot,
        "back": _restore_buttons,
        SHARE: _show_share_buttons,
    },
    pressed={VOTE_UP: Act(Effect.POSTS), "down": Act(Effect.POSTS)},
)
