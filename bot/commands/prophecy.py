"""/prophecy and /more: the tweets that foretold a headline."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from functools import partial
from urllib.parse import parse_qs, urlencode, urlsplit

from bot.commands.archives import archive_inline, points_to_corpora
from bot.commands.offers import offer_archive
from bot.commands.plain_text import PlainAnswer, decide_plain_answer, split_headlines, worth_saying
from bot.commands.registry import Command, nothing_yet, too_old
from bot.commands.rights import LOOKS, SEARCHES, Act
from bot.commands.services import Services
from bot.commands.several import answer_several
from bot.commands.why import IN_REPLY, WHOLE, meant_answer
from bot.i18n.words import marked
from bot.replies.buttons import answer_buttons
from bot.replies.dates import read_date, read_typed
from bot.replies.find import brief_find_reply, find_reply
from bot.replies.prophecy import EXAMPLE, prophecy_reply
from bot.reply import Action, Button, Reply, aside
from bot.request import Request, Trigger
from engine.chat import Answer, Tally
from engine.contracts.results import Receipt
from engine.errors import UsageError
from engine.page.article import first_link
from engine.prophecy.headline import read_headline
from engine.search import Headline, Prophecy, SearchRequest

_PAGE, _PICTURE = "/prophecy", "/picture.png"
_LONGEST_HEADLINE = 2_000
_SHOWN = 5
_FOUND = "found"  # the button below the hits of a query
_LONGEST_TEXT = 280
_PAGES = 4  # pages of hits per search, so that /more needs no second one
_PASTED = (
    Trigger.ADDRESSED,
    Trigger.REPLY,
    Trigger.OVERHEARD,
)  # a command may not be shown to others


async def show_linked(request: Request, services: Services) -> Reply | None:
    """Return the card of a linked prophecy, or None if there is nothing to show.

    Only corpora are shown that the chat may see. Raises what a search raises.
    """
    address = request.text
    if not services.page or not address.startswith(f"{services.page}{_PAGE}?"):
        return None
    asked = {name: values[-1] for name, values in parse_qs(urlsplit(address).query).items()}
    headline, corpus = asked.get("headline", "").strip(), asked.get("corpus", "")
    visible = [archive.name for archive in await services.archives.list()]
    if not headline or len(headline) > _LONGEST_HEADLINE or corpus not in visible:
        return None
    try:
        date = read_date(asked["date"]) if asked.get("date") else None
    except UsageError:
        return None
    prophecy = await services.searches.prophesy(
        SearchRequest(
            headline=read_headline(headline, date=date),
            limit=services.searches.limit,
            now=request.now,
        ),
        corpus=corpus,
    )
    if not prophecy.hits:
        return None
    reply = prophecy_reply(
        prophecy, prophecy.hits[:1], now=request.now, words=request.words, compact=True
    )
    picture = {**asked, "lang": request.words.language}
    return replace(reply, picture_url=f"{services.page}{_PICTURE}?{urlencode(picture)}")


async def found_page(
    request: Request, services: Services, query: str, corpus: str, *, after: int = 0
) -> Reply:
    """Return the hits of a query beyond rank `after`, and store the receipt of all so far.

    The query is made again for each page, by words and without a model. Raises PresagioError.
    """
    with points_to_corpora():
        found = await services.searches.find(query, corpus=corpus, limit=after + _SHOWN)
    if after and len(found.hits) <= after:
        return aside(request, request.words.say("That is all I found."))
    brief = is_compact(request) or after
    if brief:
        reply = brief_find_reply(found, request.words, longest=_LONGEST_TEXT, after=after)
    else:
        reply = find_reply(found, request.words, longest=_LONGEST_TEXT)
    if not request.place.kept:
        return reply
    kept = await services.stores.answers.keep_receipt(
        request.known_chat,
        request.place.thread,
        Receipt.of(found),
        asked_at=request.now,
        event_id=request.answered_event,
    )
    if len(found.hits) < after + _SHOWN:
        return reply
    more = Button(label=request.words.say("More"), action=Action(name=_FOUND, answer_id=kept))
    return replace(reply, buttons=((more,),))


async def more_found(request: Request, services: Services, receipt: Receipt) -> Reply:
    """Return the next page of the query that a receipt is of. Raises PresagioError."""
    return await found_page(
        request, services, receipt.canonical, receipt.corpus, after=len(receipt.hits)
    )


async def _more_found_pressed(request: Request, action: Action, services: Services) -> Reply:
    """Show what follows the hits of the message, also when pressed again."""
    kept = await services.stores.answers.receipt(request.known_chat, action.answer_id or 0)
    return await more_found(request, services, kept) if kept else too_old(request)


def is_compact(request: Request) -> bool:
    """Return whether answers in this place are short. Inline, the asker's text is not shown."""
    return request.place.kept and not request.known_chat.full_answers


async def answer_plain_text(
    commands: frozenset[str], request: Request, services: Services
) -> Reply | None:
    """Answer text that is not a command, whether addressed to the bot or overheard.

    Small talk, questions, and names of `commands` without a slash are answered with a hint.
    """
    if request.preview:
        return await show_linked(request, services)
    if request.brings_archive:
        return await offer_archive(request, services)
    if request.unreadable:
        return aside(request, request.words.say("I read text, links and captions."))
    if request.trigger is not Trigger.OVERHEARD:
        return await _answer_addressed(commands, request, services)
    prophecy = await _look(request, services)
    if not worth_saying(
        prophecy, request.known_chat.threshold, services.searches.unjudged_coverage
    ):
        return None
    return await _answer(request, services, prophecy)


async def _answer_addressed(
    commands: frozenset[str], request: Request, services: Services
) -> Reply | None:
    answer = _decide_answer(commands, request)
    if answer.searches or not request.text:
        return await _prophesy(request, services)
    if answer.hint:
        return aside(request, answer.hint)
    return Reply(words=request.words, reaction=answer.reaction) if answer.reaction else None


def _decide_answer(commands: frozenset[str], request: Request) -> PlainAnswer:
    """Return how a plain message is answered; without text it is told what to write."""
    if not request.text:
        return PlainAnswer()
    return decide_plain_answer(request, commands)


def plain_act(commands: frozenset[str], request: Request) -> Act:
    """Return the act of a plain message: a hint is not a search."""
    if request.brings_archive:
        return LOOKS
    if request.trigger is Trigger.OVERHEARD or _decide_answer(commands, request).searches:
        return SEARCHES
    return LOOKS


async def _prophesy(request: Request, services: Services) -> Reply:
    if not request.text:
        words = request.words
        text = words.say("Send me a headline, such as: {example}", example=words.say(EXAMPLE))
        return aside(request, text)
    if headlines := split_headlines(request.text, forwarded=request.written_at is not None):
        return await answer_several(request, services, headlines, _look)
    search = await _read_search(request, services)
    prophecy = await _search(*search, request, services)
    reply = await _answer(request, services, prophecy)
    if not prophecy.unfinished or reply.shows is None:
        return reply
    finish = partial(_finish_answer, request, services, reply.shows, *search)
    return replace(reply, finish=finish)


async def _finish_answer(
    request: Request, services: Services, shown: Answer, asked: SearchRequest, corpus: str
) -> Reply | None:
    """Return the whole answer in place of one that did not wait for texts to be compared.

    None if it is to stay, because somebody has voted on it.
    """
    prophecy = await services.searches.prophesy(replace(asked, patience=None), corpus=corpus)
    answer = replace(shown, prophecy=prophecy)
    if not await services.stores.answers.finish(answer):
        return None
    return _show_page(request, answer, _buttons(request, services, answer, {}))


async def _look(request: Request, services: Services) -> Prophecy:
    """Return the whole answer to a headline, however long it takes."""
    search = await _read_search(replace(request, patience=None), services)
    return await _search(*search, request, services)


async def _search(
    search: SearchRequest, corpus: str, request: Request, services: Services
) -> Prophecy:
    request.step(name_longest_step(request, services))
    with points_to_corpora():
        return await services.searches.prophesy(search, corpus=corpus)


async def _read_search(request: Request, services: Services) -> tuple[SearchRequest, str]:
    """Return what to search for, and the name of the archive."""
    corpus = services.archives.name_for(request.known_chat)
    if not request.place.kept:
        corpus, request = await archive_inline(request, services)
    typed = read_typed(request.text, now=request.now)
    if first_link(typed.text):
        request.step(request.words.say("Reading the page …"))
    read = await services.searches.read_headline(typed.text, now=request.now)
    headline = _date_headline(replace(read, date=typed.date or read.date), request)
    youngest = (headline.date or request.now) - services.searches.minimum_age
    before = min(typed.filters.before or youngest, youngest)
    search = SearchRequest(
        headline=headline,
        limit=services.searches.limit * _PAGES,
        now=request.now,
        filters=replace(typed.filters, before=before),
        exclude_recent=typed.exclude_recent,
        patience=request.patience,
    )
    return search, corpus


def name_longest_step(request: Request, services: Services) -> str:
    """Return the step of an answer that takes longest."""
    words = request.words
    asks = services.news.has_model
    return words.say("Asking the model …") if asks else words.say("Searching …")


def _date_headline(headline: Headline, request: Request) -> Headline:
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


async def _answer(request: Request, services: Services, prophecy: Prophecy) -> Reply:
    answer = Answer(prophecy=prophecy, asked_at=request.now, first=0, last=services.searches.limit)
    if not request.place.kept:
        return _show_page(request, answer, ())
    kept = await services.stores.answers.keep(
        request.known_chat, request.place.thread, answer, event_id=request.answered_event
    )
    answer = replace(answer, id=kept)
    # A new answer has no votes yet.
    return _show_page(request, answer, _buttons(request, services, answer, {}))


def _show_page(request: Request, answer: Answer, buttons: tuple[tuple[Button, ...], ...]) -> Reply:
    reply = prophecy_reply(
        answer.prophecy,
        answer.page,
        now=answer.asked_at,
        words=request.words,
        near=answer.is_near,
        buttons=buttons,
        compact=is_compact(request),
        pasted=request.trigger in _PASTED and answer.first == 0,
        operator=request.words.operator,
    )
    return replace(reply, shows=answer)


def _buttons(
    request: Request, services: Services, answer: Answer, tallies: Mapping[int, Tally]
) -> tuple[tuple[Button, ...], ...]:
    return answer_buttons(
        answer,
        tallies,
        request.words,
        platform=request.place.platform,
        compact=is_compact(request),
        writes=services.composing is not None,
    )


async def _more(request: Request, services: Services) -> Reply | None:
    """Show what follows the page of an answer that was shown last, also in reply to another."""
    meant = await meant_answer(request, services)
    if meant is None:
        return nothing_yet(request)
    if isinstance(meant, Receipt):
        return await more_found(request, services, meant)
    if await services.stores.answers.asked_with(meant):
        # Its headline is named, as it is one of several.
        return await _show_whole(replace(request, trigger=Trigger.COMMAND), meant, services)
    kept = await services.stores.answers.get(request.known_chat, meant.id or 0) or meant
    return await _page(request, services, kept.page_at(kept.last))


async def _more_pressed(request: Request, action: Action, services: Services) -> Reply:
    """Show the page named in the button, so that pressing it again shows the same page."""
    page = await services.find_page(request, action)
    return await _page(request, services, page) if page else too_old(request)


async def _whole_pressed(request: Request, action: Action, services: Services) -> Reply:
    """Show all of an answer of which a line was shown, as a message of its own."""
    answer = await services.find_answer(request, action)
    return await _show_whole(request, answer, services) if answer else too_old(request)


async def _show_whole(request: Request, answer: Answer, services: Services) -> Reply:
    whole = replace(answer, first=0, last=services.searches.limit)
    return await _page(request, services, whole)


async def _page(request: Request, services: Services, answer: Answer) -> Reply:
    if not answer.page:
        return aside(request, request.words.say("That is all I found."))
    await services.stores.answers.turn_page(answer)
    tallies = await services.stores.answers.tallies(answer)
    return _show_page(request, answer, _buttons(request, services, answer, tallies))


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
    handler=_more,
    act=LOOKS,  # pages through a stored answer
    actions={"more": _more_pressed, WHOLE: _whole_pressed, _FOUND: _more_found_pressed},
)
