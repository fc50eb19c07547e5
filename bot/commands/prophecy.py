"""/prophecy and /more: the tweets that foretold a headline, or several in one message."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from functools import partial

from bot.app import App
from bot.commands.archives import archive_inline
from bot.commands.headline_detection import MAX_HEADLINES, split_headlines
from bot.commands.offers import explain_unread, offer_archive
from bot.commands.pasted import read_pasted
from bot.commands.plain_messages import say_hint
from bot.commands.queries import FOUND, more_found, press_more_found
from bot.commands.registry import Command, find_answer, find_page, nothing_yet, too_old
from bot.commands.rights import LOOKS, SEARCHES
from bot.commands.why import IN_REPLY, WHOLE, meant_answer, show_sources
from bot.i18n.words import marked
from bot.replies.buttons import answer_button, answer_buttons
from bot.replies.dates import read_typed
from bot.replies.limits import cut
from bot.replies.prophecy import EXAMPLE, hit_view, prophecy_reply, say_unjudged
from bot.reply import Action, Button, ItemView, Reply, reply_aside
from bot.request import Hint, Request, Trigger
from db.chat.answers import Answers
from engine.chat import Answer, Tally
from engine.contracts.results import Receipt
from engine.errors import CorpusNotFound, PresagioError, StorageError
from engine.feeds.stories import repeats_headline
from engine.page.article import first_link
from engine.posting.choose import is_worth_saying
from engine.search import Headline, Prophecy, SearchRequest

_LONGEST_HEADLINE = 2_000
_LONGEST_SHOWN = 80  # of one of several headlines
# Errors that meet every headline of a message; others are told beside the headline they meet.
_OF_ALL = (CorpusNotFound, StorageError)
_SAME_NEWS = timedelta(days=1)  # is not told again when it is overheard again
_PAGES = 4  # pages of hits per search, so that /more needs no second one
# A command may not be shown to others.
_PASTED = (Trigger.ADDRESSED, Trigger.REPLY, Trigger.OVERHEARD)


@dataclass(frozen=True, slots=True)
class _Search:
    """What is searched for, and in which archive; "" is the only one."""

    request: SearchRequest
    corpus: str


async def answer_plain_message(request: Request, app: App) -> Reply | None:
    """Answer text that is not a command, whether addressed to the bot or overheard.

    Small talk, questions, and names of commands without a slash are answered with a hint.
    """
    if request.brings_archive:
        return await offer_archive(request, app)
    if request.unreadable:
        return explain_unread(request, app)
    if request.trigger is Trigger.OVERHEARD:
        return await _answer_overheard(request, app)
    return await _answer_addressed(request, app)


async def _answer_overheard(request: Request, app: App) -> Reply | None:
    """Answer an overheard headline if that is worth saying, and was not said within a day."""
    chat = request.known_chat
    search = await _read_search(replace(request, patience=None), app)
    answered = await Answers(app.database).headlines(chat, since=request.now - _SAME_NEWS)
    if any(repeats_headline(search.request.headline.text, headline) for headline in answered):
        return None
    prophecy = await _run_search(search, request, app)
    if not is_worth_saying(prophecy, chat.threshold, app.settings.chat.unjudged_coverage):
        return None
    return await _show_prophecy(request, app, prophecy)


async def _answer_addressed(request: Request, app: App) -> Reply | None:
    """Search for a message to the bot, or answer it otherwise: by a hint, a source or a smiley."""
    answer = request.plain_answer
    if answer is None or answer.searches or not request.text:
        return await _prophesy(request, app)
    if answer.shows_sources:
        return await show_sources(request, app, rank=answer.rank)
    if answer.hint is not Hint.NONE:
        return reply_aside(request, say_hint(answer, request.words))
    return Reply(words=request.words, reaction=answer.reaction) if answer.reaction else None


async def _prophesy(request: Request, app: App) -> Reply:
    """Answer /prophecy: the headlines in the text, or an example if there is none."""
    if not request.text:
        words = request.words
        text = words.say("Send me a headline, such as: {example}", example=words.say(EXAMPLE))
        return reply_aside(request, text)
    if headlines := split_headlines(request.text, forwarded=request.written_at is not None):
        return await _answer_several(request, app, headlines)
    search = await _read_search(request, app)
    prophecy = await _run_search(search, request, app)
    reply = await _show_prophecy(request, app, prophecy)
    if not prophecy.unfinished or reply.shows is None:
        return reply
    finish = partial(_complete_answer, request, app, reply.shows, search)
    return replace(reply, finish=finish)


async def _complete_answer(
    request: Request, app: App, previous: Answer, search: _Search
) -> Reply | None:
    """Return the whole answer in place of one that did not wait for texts to be compared.

    None if it is to stay, because somebody has voted on it.
    """
    patient = replace(search.request, patience=None)
    prophecy = await app.prophesy(patient, corpus=search.corpus)
    answer = replace(previous, prophecy=prophecy)
    if not await Answers(app.database).finish(answer):
        return None
    return _show_page(request, answer, _build_buttons(request, app, answer, {}))


async def _run_search(search: _Search, request: Request, app: App) -> Prophecy:
    request.step(request.words.say("Searching …"))
    return await app.prophesy(search.request, corpus=search.corpus)


async def _read_search(request: Request, app: App) -> _Search:
    """Return the search that a message asks for. Raises FetchError."""
    corpus = app.archive_of(request.known_chat)
    if not request.place.kept:
        corpus, request = await archive_inline(request, app)
    typed = read_typed(request.text, now=request.now)
    if first_link(typed.text):
        request.step(request.words.say("Reading the page …"))
    read = await read_pasted(app, typed.text, now=request.now)
    headline = _date_by_message(replace(read, date=typed.date or read.date), request)
    # What was written just before the news is about them.
    latest = (headline.date or request.now) - timedelta(days=app.settings.posting.minimum_age_days)
    before = min(typed.filters.before or latest, latest)
    return _Search(
        SearchRequest(
            headline=headline,
            limit=app.settings.search.limit * _PAGES,
            now=request.now,
            filters=replace(typed.filters, before=before),
            exclude_recent=typed.exclude_recent,
            patience=request.patience,
        ),
        corpus,
    )


def _date_by_message(headline: Headline, request: Request) -> Headline:
    """Date a headline by its message if it has no date, and never in the future.

    A message of today does not date it: it is asked about as if it had just been written, so that
    its judgment is kept.
    """
    date = headline.date or request.written_at
    if (
        headline.date is None
        and date
        and date.astimezone(UTC).date() == request.now.astimezone(UTC).date()
    ):
        return headline
    return replace(headline, date=min(date, request.now)) if date else headline


async def _show_prophecy(request: Request, app: App, prophecy: Prophecy) -> Reply:
    answer = Answer(
        prophecy=prophecy, asked_at=request.now, first=0, last=app.settings.search.limit
    )
    if not request.place.kept:
        return _show_page(request, answer, ())
    answer = await _store_answer(answer, request, app)
    # A new answer has no votes yet.
    return _show_page(request, answer, _build_buttons(request, app, answer, {}))


async def _store_answer(answer: Answer, request: Request, app: App) -> Answer:
    """Store a new answer, so that its buttons and /why find it; return it with its id."""
    stored = await Answers(app.database).keep(
        request.known_chat, request.place.thread, answer, event_id=request.answered_event
    )
    return replace(answer, id=stored)


def _show_page(request: Request, answer: Answer, buttons: tuple[tuple[Button, ...], ...]) -> Reply:
    """Return a page of an answer as a reply that /why and /more know by what it shows."""
    reply = prophecy_reply(
        answer.prophecy,
        answer.page,
        now=answer.asked_at,
        words=request.words,
        near=answer.is_near,
        buttons=buttons,
        compact=request.wants_brief_answer,
        pasted=request.trigger in _PASTED and answer.first == 0,
    )
    return replace(reply, shows=answer)


def _build_buttons(
    request: Request, app: App, answer: Answer, tallies: Mapping[int, Tally]
) -> tuple[tuple[Button, ...], ...]:
    return answer_buttons(
        answer,
        tallies,
        request.words,
        platform=request.place.platform,
        compact=request.wants_brief_answer,
        writes=app.client is not None,
    )


async def _answer_several(request: Request, app: App, headlines: Sequence[str]) -> Reply:
    """Answer the first three headlines of a message, and name those that are left out.

    Raises CorpusNotFound and StorageError.
    """
    words, written = request.words, headlines[:MAX_HEADLINES]

    async def answer_in_full(headline: str) -> Answer:
        asked = replace(request, text=headline, patience=None)
        prophecy = await _run_search(await _read_search(asked, app), request, app)
        return Answer(prophecy=prophecy, asked_at=request.now, first=0, last=1)

    # Raised only when all are done, as the other searches would go on behind an error.
    outcomes = await asyncio.gather(*map(answer_in_full, written), return_exceptions=True)
    stored, remarks = list[Answer](), list[str]()
    for headline, outcome in zip(written, outcomes, strict=True):
        if not isinstance(outcome, BaseException):
            keeps = request.place.kept
            stored.append(await _store_answer(outcome, request, app) if keeps else outcome)
        elif isinstance(outcome, PresagioError) and not isinstance(outcome, _OF_ALL):
            remarks.append(f"{_shorten_headline(headline)}: {words.render(outcome.full_message)}")
        else:
            raise outcome
    numbered = list(enumerate(stored, start=1))
    numbered_answers = [(number, answer) for number, answer in numbered if answer.page]
    nothing = words.say("No old tweet foretold this.")
    missed = [(number, answer) for number, answer in numbered if not answer.page]
    remarks[:0] = [f"{number}. {_name_headline(answer)}: {nothing}" for number, answer in missed]
    unjudged = (say_unjudged(answer.prophecy, words) for _, answer in numbered_answers)
    remarks += dict.fromkeys(filter(None, unjudged))  # once
    if rest := headlines[MAX_HEADLINES:]:
        named = ", ".join(map(_shorten_headline, rest))
        left_out = words.say("I answer three at a time. Left out: {headlines}", headlines=named)
        remarks.append(left_out)
    return _show_several(request, numbered_answers, "\n".join(remarks) or None)


def _show_several(
    request: Request, numbered_answers: Sequence[tuple[int, Answer]], remark_text: str | None
) -> Reply:
    """Return the first tweet for each of several headlines, under the headline's number."""
    words = request.words
    views = [
        hit_view(answer.page[0], answer.prophecy.headline.date or request.now, words)
        for _, answer in numbered_answers
    ]
    signed = len({view.signature for view in views}) > 1
    more = words.say("More")
    row = tuple(
        answer_button(answer, f"{number}. {more}", WHOLE, 0) for number, answer in numbered_answers
    )
    return Reply(
        words=words,
        shows=numbered_answers[0][1] if numbered_answers else None,
        items=tuple(
            ItemView(
                headline=_name_headline(answer),
                link=None,
                hit=replace(view, rank=number, small=True, signed=signed, why=None),
            )
            for (number, answer), view in zip(numbered_answers, views, strict=True)
        ),
        # What has no tweet follows the others, which only a notice does.
        text=None if numbered_answers else remark_text,
        notice=remark_text if numbered_answers else None,
        buttons=(row,) if row and request.place.kept else (),
    )


def _name_headline(answer: Answer) -> str:
    headline = answer.prophecy.headline
    return _shorten_headline(headline.text or headline.original)


def _shorten_headline(written: str) -> str:
    return cut(" ".join(written.split()), _LONGEST_SHOWN)


async def _show_more(request: Request, app: App) -> Reply | None:
    """Show what follows the page of an answer that was shown last, also in reply to another."""
    meant = await meant_answer(request, app)
    if meant is None:
        return nothing_yet(request)
    if isinstance(meant, Receipt):
        return await more_found(request, app, meant)
    if await Answers(app.database).asked_with(meant):
        # Its headline is named, as it is one of several.
        return await _show_whole(replace(request, trigger=Trigger.COMMAND), meant, app)
    # As it is now: another may have turned its page. What was found in storage has an id.
    stored = await Answers(app.database).get(request.known_chat, meant.id or 0) or meant
    return await _show_next_page(request, app, stored.page_at(stored.last))


async def _more_pressed(request: Request, action: Action, app: App) -> Reply:
    """Show the page named in the button, so that pressing it again shows the same page."""
    page = await find_page(request, action, app)
    return await _show_next_page(request, app, page) if page else too_old(request)


async def _whole_pressed(request: Request, action: Action, app: App) -> Reply:
    """Show all of an answer of which a line was shown, as a message of its own."""
    answer = await find_answer(request, action, app)
    return await _show_whole(request, answer, app) if answer else too_old(request)


async def _show_whole(request: Request, answer: Answer, app: App) -> Reply:
    whole = replace(answer, first=0, last=app.settings.search.limit)
    return await _show_next_page(request, app, whole)


async def _show_next_page(request: Request, app: App, answer: Answer) -> Reply:
    if not answer.page:
        return reply_aside(request, request.words.say("That is all I found."))
    await Answers(app.database).turn_page(answer)
    tallies = await Answers(app.database).tallies(answer)
    return _show_page(request, answer, _build_buttons(request, app, answer, tallies))


PROPHECY = Command(
    name="prophecy",
    distinctive=True,
    aliases=("p",),
    summary=marked("find old tweets that foretold a headline or a link; plain text does the same"),
    usage=marked("/prophecy HEADLINE"),
    example=marked("/prophecy Power cut leaves the whole coast in the dark"),
    handler=_prophesy,
    act=SEARCHES,
    takes_quoted=True,
    takes_headlines=True,
)
MORE = Command(
    name="more",
    summary=marked("show the next tweets for the last headline or query"),
    usage="/more",
    example="/more",
    details=(IN_REPLY,),
    handler=_show_more,
    act=LOOKS,  # pages through a stored answer
    actions={"more": _more_pressed, WHOLE: _whole_pressed, FOUND: press_more_found},
)
