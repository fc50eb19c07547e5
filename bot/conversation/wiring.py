"""Wires the conversation and the services of its commands, for chats and the terminal."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from bot.app import App, glossary_service
from bot.commands.plain_text import is_remark, tells_something
from bot.commands.registry import Registry
from bot.commands.rights import Ownership
from bot.commands.services import (
    ArchiveLoader,
    Archives,
    Charge,
    ChatAccess,
    ChatStores,
    ComposeServices,
    NewsServices,
    Searches,
    Services,
)
from bot.conversation.admission import Doorkeeper
from bot.conversation.conversation import Conversation
from bot.conversation.gates import Gates
from bot.conversation.writing import Writing, WritingParts
from bot.evidence import advise_local_model
from bot.jobs.content import pictures_of
from bot.jobs.digest import deciding_of
from bot.jobs.troubles import ignore
from bot.queries.ask import ask_one, corpora_for
from bot.queries.find import find
from bot.reply import MAX_HITS
from bot.settings.model import ChatSettings
from db.chat.answers import Answers, Questions
from db.chat.chats import Chats, Forgetting, Quotas, Waiting
from db.chat.compositions import Compositions
from db.chat.events import EventClaims
from db.posting.feeds import FeedOffers, Feeds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Finds, Subscriptions
from engine.budget import BudgetSource
from engine.errors import FetchError, FetchFailed, PresagioError, explain_error
from engine.feeds.lookup import FEED_LIMITS, FeedLookup
from engine.feeds.read import FeedParser
from engine.fetch import shown_host
from engine.messages import Message, for_operators, join_messages
from engine.page.article import first_link, headline_from_link
from engine.process_pool import ProcessPool
from engine.prophecy.headline import read_headline
from engine.search import Headline
from engine.settings import UNLIMITED

if TYPE_CHECKING:
    from engine.fetch.client import Fetcher

logger = logging.getLogger("presagio.conversation")

_DATE_SECONDS = 4.0  # the answer does not need it
_PATIENCE = 1.0  # seconds for texts to be compared; a model at work needs half of it
_LOOKUP_SECONDS = 15.0  # short, as somebody waits for the answer


async def read_pasted(
    fetcher: "Fetcher", isolation: ProcessPool, text: str, *, now: datetime
) -> Headline:
    """Return the headline in `text`, or the title of a linked page if there are only remarks.

    Beside a headline, only the date of the page is used, if it can be read in a few seconds. Words
    beside a link that cannot be opened are used if they tell anything. Raises FetchError.
    """
    written = read_headline(text)
    link = first_link(text)
    if link is None:
        return written
    if is_remark(written.text):
        try:
            return await headline_from_link(fetcher, isolation, link, now=now)
        except FetchError as error:
            if tells_something(written.text):
                return written
            if not isinstance(error, FetchFailed):
                raise  # it says what is wrong with the page
            raise FetchFailed(
                Message("I could not open {host}.", host=shown_host(link)),
                fix=join_messages(
                    Message("Paste the headline instead."), for_operators(error.full_message)
                ),
            ) from error
    return replace(written, date=await _date_of_page(fetcher, isolation, link, now=now))


async def _date_of_page(
    fetcher: "Fetcher", isolation: ProcessPool, link: str, *, now: datetime
) -> datetime | None:
    """Return the date of a page, or None if there is none or the page cannot be read."""
    try:
        async with asyncio.timeout(_DATE_SECONDS):
            return (await headline_from_link(fetcher, isolation, link, now=now)).date
    except (FetchError, TimeoutError) as error:
        logger.info("the date of a linked page is unknown: %s", explain_error(error))
        return None


def conversation_of(
    app: App,
    *,
    claims: EventClaims,
    commands: Registry,
    fetcher: "Fetcher",
    news: NewsServices,
    ownership: Ownership,
    report: Callable[[PresagioError], None] = ignore,
    loader: ArchiveLoader | None = None,
) -> Conversation:
    """Return the conversation for chat platforms, configured by the settings of `app`."""
    settings, chats = app.settings.chat, Chats(app.database)
    is_open = settings.access == "open"
    gates = Gates(
        chats=chats,
        quotas=Quotas(app.database),
        limits=settings if is_open else settings.model_copy(update={"allow": ()}),
        counts=commands.counts,
        doorkeeper=Doorkeeper(
            ownership, open=is_open, allow=settings.allow, operators=settings.admins
        ),
    )
    limit = min(app.settings.search.limit, MAX_HITS)  # /more shows the others
    writing = writing_of(
        app,
        claims,
        trusted=settings.private,
        admins=settings.admins,
        report=report,
        write_commands=commands.write_as_typed,
    )

    def services(seen: App) -> Services:
        found = chat_services(
            seen,
            fetcher,
            news,
            limit=limit,
            admins=settings.admins,
            ownership=ownership,
            composing=composing_of(seen, writing, charge=partial(require_daily, app)),
        )
        return replace(found, loader=loader)

    return Conversation(
        gates=gates,
        claims=claims,
        chats=chats,
        commands=commands,
        services=services(app.public),
        trusted=dict.fromkeys(settings.private, services(app)),
        writing=writing,
        report=report,
        patience=_PATIENCE,
    )


def writing_of(
    app: App,
    claims: EventClaims,
    *,
    trusted: Collection[str] = (),
    admins: Collection[str] = (),
    source: BudgetSource = BudgetSource.CHATS,
    report: Callable[[PresagioError], None] = ignore,
    write_commands: Callable[[str, str], str] = lambda _, text: text,
) -> Writing | None:
    """Return what writes tweets for chats, or None without a language model.

    Chats that are `trusted` may have all corpora of `app` read, others the public ones.
    """
    if app.client is None:
        return None
    from bot.queries.compose import compose_task  # noqa: PLC0415 - much to load, and few write

    seen = app.public if source is BudgetSource.CHATS else app
    return Writing(
        WritingParts(
            tasks=Compositions(app.database),
            process=lambda: claims.process,
            compose=partial(compose_task, seen),
            trusted=dict.fromkeys(trusted, partial(compose_task, app)),
            operators=frozenset(admins),
            source=source,
            report=report,
            write_commands=write_commands,
        )
    )


def composing_of(app: App, writing: Writing | None, *, charge: Charge) -> ComposeServices | None:
    """Return the services of /compose, limited to the corpora visible through `app`."""
    if writing is None:
        return None
    return ComposeServices(
        tasks=Compositions(app.database),
        corpora=partial(corpora_for, app),
        charge=charge,
        stop=writing.stop,
    )


async def require_daily(app: App, asker: str, *, now: datetime) -> None:
    """Count one request against the asker's `compose.daily`.

    Raises PresagioError if it is one too many today (UTC), and storage errors.
    """
    limit = app.settings.compose.daily
    if limit == UNLIMITED:
        return
    if await Quotas(app.database).use(f"compose:{asker}", now=now) > limit:
        raise PresagioError(
            Message("Enough was written for you today: {limit} times.", limit=limit),
            fix=Message("Ask again tomorrow (UTC)."),
        )


def _is_admitted(settings: ChatSettings, chat: str) -> bool:
    """Return whether the lists of the settings admit a chat, "platform:id"."""
    listed = settings.access != "open" or not settings.allow or chat in settings.allow
    return listed and chat not in settings.block


def chat_services(
    app: App,
    fetcher: "Fetcher",
    news: NewsServices,
    *,
    limit: int,
    admins: Collection[str],
    ownership: Ownership,
    composing: ComposeServices | None = None,
) -> Services:
    """Return the services of commands, limited to the corpora visible through `app`."""
    settings, database = app.settings, app.database
    return Services(
        searches=Searches(
            prophesy=app.prophesy,
            find=partial(find, app),
            ask=partial(ask_one, app),
            read_headline=partial(read_pasted, fetcher, app.isolation),
            limit=limit,
            minimum_age=timedelta(days=settings.posting.minimum_age_days),
            unjudged_coverage=settings.chat.unjudged_coverage,
            advice=None if settings.has_model() else advise_local_model(settings),
        ),
        archives=Archives(
            list=app.corpora.list,
            glossary=glossary_service(app),
            usual=settings.search.corpus,
        ),
        stores=ChatStores(
            chats=Chats(database),
            answers=Answers(database),
            questions=Questions(database),
            waiting=Waiting(database),
            forgetting=Forgetting(database),
            quotas=Quotas(database),
        ),
        access=ChatAccess(
            ownership=ownership,
            admins=frozenset(admins),
            serves=partial(_is_admitted, settings.chat),
        ),
        news=news,
        pictures=pictures_of(app),
        composing=composing,
    )


@asynccontextmanager
async def open_news_services(
    app: App, fetcher: "Fetcher", *, delivers: Iterable[str] = ()
) -> AsyncIterator[NewsServices]:
    """Open the news services. `delivers` names the platforms on which posts are sent."""
    database, polling = app.database, app.settings.polling
    limits = replace(FEED_LIMITS, seconds=_LOOKUP_SECONDS)
    async with FeedParser(workers=1) as parser:  # its process starts on first use
        lookup = FeedLookup(fetcher=fetcher, parser=parser, limits=limits)
        yield NewsServices(
            feeds=Feeds(database),
            offers=FeedOffers(database),
            subscriptions=Subscriptions(database),
            finds=Finds(database),
            outbox=Outbox(database),
            deciding=deciding_of(app),
            look_up=lookup.look_up,
            read_list=lookup.read_list,
            feeds_per_chat=polling.feeds_per_chat,
            has_model=app.settings.has_model(),
            delivers=frozenset(delivers),
        )
