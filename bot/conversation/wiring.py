"""The conversation, wired: what answers in chats and in the terminal."""

from collections.abc import Collection
from functools import partial

from bot.app import App, glossary_desk
from bot.commands.news_services import NewsServices
from bot.commands.registry import Registry, Services
from bot.conversation.conversation import Conversation
from bot.conversation.gates import AccessLimits, Gates
from bot.conversation.pasted_links import read_pasted
from bot.face.reply import MOST_HITS
from bot.queries.ask import ask_one
from bot.queries.find import find
from db.chat.answers import Answers
from db.chat.chats import Chats
from db.chat.events import EventClaims
from db.chat.questions import Questions
from db.chat.quotas import Quotas
from engine.fetch.client import Fetcher


def conversation_of(
    app: App, *, claims: EventClaims, commands: Registry, fetcher: Fetcher, news: NewsServices
) -> Conversation:
    """Return the conversation of chat platforms, by the settings of `app`."""
    settings, chats = app.settings.chat, Chats(app.database)
    gates = Gates(
        chats=chats,
        quotas=Quotas(app.database),
        limits=AccessLimits(
            allow=settings.allow,
            block=settings.block,
            user_daily=settings.user_daily,
            chat_daily=settings.chat_daily,
            buttons_per_minute=settings.buttons_per_minute,
        ),
        counts=commands.counts,
    )
    limit = min(app.settings.search.limit, MOST_HITS)  # /more shows the others

    def services(seen: App) -> Services:
        return chat_services(seen, fetcher, news, limit=limit, admins=settings.admins)

    return Conversation(
        gates=gates,
        claims=claims,
        chats=chats,
        commands=commands,
        services=services(app.public),
        trusted=dict.fromkeys(settings.private, services(app)),
        most=settings.queue,
        most_in_chat=settings.queue_per_chat,
    )


def chat_services(
    app: App, fetcher: Fetcher, news: NewsServices, *, limit: int, admins: Collection[str]
) -> Services:
    """Return what commands work with, in corpora that `app` shows."""
    return Services(
        prophesy=app.prophesy,
        find=partial(find, app),
        ask=partial(ask_one, app),
        read_headline=partial(read_pasted, fetcher),
        corpora=app.corpora.list,
        chats=Chats(app.database),
        answers=Answers(app.database),
        questions=Questions(app.database),
        news=news,
        glossary=glossary_desk(app),
        corpus=app.settings.search.corpus,
        limit=limit,
        unjudged_coverage=app.settings.chat.unjudged_coverage,
        admins=frozenset(admins),
    )
