"""A bot without a platform: the conversation on a real database, an adapter that remembers."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from unittest.mock import patch
from zlib import crc32

from bot.adapter import DeliveryError
from bot.commands import Registry, standard_commands
from bot.commands.intents import IntentJudge
from bot.commands.rights import Ownership
from bot.conversation.conversation import Conversation
from bot.conversation.gates import Doorkeeper
from bot.jobs.troubles import ignore
from bot.reply import Reply
from bot.request import Inquiries, Person, Place, Request, Trigger
from bot.settings.model import ChatSettings
from db.chat.compositions import KeptTask
from db.chat.events import EventClaims
from db.pool import Database
from db.posting.subscriptions import Subscriptions
from engine.answer.cited_answer import AnswerOutcome, CitedAnswer, Question
from engine.chat import Chat
from engine.compose.composition import Composition, StepName
from engine.errors import PresagioError
from engine.posting.delivery import Subscription
from engine.prophecy.headline import read_headline
from engine.query.results import QueryAnswer
from engine.search import Headline, Prophecy, SearchRequest
from engine.settings import UNLIMITED
from engine.values import Corpus, Kind
from tests.bot.apps import ListedApp, NoFeeds, StandInCorpora, app_parts, change_settings
from tests.bot.finds import StandInFind
from tests.bot.prophecies import NOW, StandInEngine
from tests.patience import PATIENCE

PRIVATE = Place(platform="test", chat_id="p", private=True)
GROUP = Place(platform="test", chat_id="g", private=False, title="A group")
ANA = Person(id="ana")

Compose = Callable[[KeptTask, datetime, Callable[[StepName], None]], Awaitable[Composition]]
_numbers = itertools.count(1)


def event(text: str, **changes: object) -> Request:
    """A private message of Ana's with an id of its own, unless `changes` say otherwise."""
    values: dict[str, object] = {
        "event_id": f"e{next(_numbers)}",
        "place": PRIVATE,
        "person": ANA,
        "trigger": Trigger.ADDRESSED,
        "text": text,
        "now": NOW,
    }
    asked = {name: changes.pop(name) for name in ("is_admin", "hears_all") if name in changes}
    values["inquiries"] = Inquiries(**asked)  # type: ignore[arg-type]  # as below
    return Request(**{**values, **changes})  # type: ignore[arg-type]  # the table above has the types


def corpus(name: str, documents: int = 3) -> Corpus:
    return Corpus(
        id=crc32(name.encode()) % 100_000 + 1,
        name=name,
        kind=Kind.TWEETS,
        language="english",
        author=None,
        url_template=None,
        documents=documents,
        tokens=9,
        languages=("english",),
    )


@dataclass
class MemoryAdapter:
    """Remembers what was delivered; raises what `error` says instead, when it is set."""

    platform: str = "test"
    error: Exception | None = None
    delivered: list[tuple[Request, Reply]] = field(default_factory=list)
    signs: int = 0
    hold: asyncio.Event | None = None  # deliveries wait for it
    sending: bool = False
    unchangeable: bool = False  # what shows a step
    steps: list[str] = field(default_factory=list)
    changed: list[tuple[str, Reply]] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)

    async def show_busy(self, request: Request) -> None:
        self.signs += 1

    async def show_step(self, request: Request, text: str, shown: str | None) -> str | None:
        self.steps.append(text)
        return "" if self.unchangeable else shown or "step"

    async def change(self, request: Request, message: str, reply: Reply) -> str:
        self.changed.append((message, reply))
        return message

    async def delete(self, request: Request, message: str) -> None:
        self.withdrawn.append(message)

    async def deliver(self, request: Request, reply: Reply) -> str | None:
        self.sending = True
        if self.hold:
            await self.hold.wait()
        self.delivered.append((request, reply))
        if self.error:
            raise self.error
        return f"m{len(self.delivered)}"

    @property
    def replies(self) -> list[Reply]:
        return [reply for _, reply in self.delivered]

    @property
    def texts(self) -> list[str]:
        return [
            reply.text or reply.toast or reply.headline or request.text
            for request, reply in self.delivered
        ]


@dataclass
class Bot:
    """One process of the bot."""

    conversation: Conversation
    app: "StandInApp"
    engine: StandInEngine
    adapter: MemoryAdapter
    claims: EventClaims
    corpora: list[Corpus]

    async def hear(self, request: Request) -> Reply | None:
        """Return the one reply to an event, or None for silence."""
        before = len(self.adapter.delivered)
        async with asyncio.timeout(PATIENCE):
            await self.conversation.answer(request, self.adapter)
        new = self.adapter.replies[before:]
        assert len(new) <= 1, new
        return new[0] if new else None

    async def say(self, text: str, **changes: object) -> Reply:
        """Return the reply to a message, which must have one."""
        reply = await self.hear(event(text, **changes))
        assert reply is not None, text
        return reply

    async def told(self, text: str, **changes: object) -> str:
        """Return the words of the reply to a message."""
        return (await self.say(text, **changes)).text or ""

    def begin(self, text: str | Request, **changes: object) -> "asyncio.Task[None]":
        """Have an event answered meanwhile."""
        request = event(text, **changes) if isinstance(text, str) else text
        return asyncio.create_task(self.conversation.answer(request, self.adapter))

    async def press(self, reply: Reply, name: str, **changes: object) -> Reply:
        actions = [button.action for row in reply.buttons for button in row]
        wanted = next(str(action) for action in actions if action.name == name)
        return await self.say(wanted, trigger=Trigger.BUTTON, **changes)

    async def chat(self, place: Place = PRIVATE) -> Chat:
        return await self.app.chats.meet(
            place.platform, place.chat_id, private=place.private, title=place.title, asked_in="en"
        )

    async def subscription(self) -> Subscription:
        """Return the subscription of the private chat, which must have one."""
        subscription = await Subscriptions(self.app.database).get(await self.chat())
        assert subscription is not None
        return subscription

    async def set_up(self, place: Place = GROUP, **changes: object) -> None:
        chat = await self.chat(place)
        await self.app.chats.change(replace(chat, **changes))  # type: ignore[arg-type]  # settings of Chat


def labels(reply: Reply) -> list[str]:
    return [button.label for row in reply.buttons for button in row]


async def yes() -> bool:
    """Say what the platform is asked of an admin."""
    return True


async def read(text: str, *, now: datetime) -> Headline:
    """Read a headline without fetching anything."""
    return read_headline(text)


class DeafPoster:
    """The platform of a chat that cannot be posted to."""

    platform = "test"

    async def post(self, *_: object, **__: object) -> str:
        """Raise DeliveryError."""
        raise DeliveryError("The platform does not answer.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StandInApp(ListedApp):
    """An App whose searches, pages and compositions are stand-ins."""

    engine: Callable[..., Awaitable[Prophecy]]
    find: Callable[..., Awaitable[QueryAnswer]]
    ask: Callable[..., Awaitable[CitedAnswer]]
    read_headline: Callable[..., Awaitable[Headline]]
    compose: Compose | None

    async def prophesy(self, request: SearchRequest, *, corpus: str) -> Prophecy:
        return await self.engine(request, corpus=corpus)


# The functions that a StandInApp answers by itself.
STANDING_IN = {
    "bot.commands.queries.find": "find",
    "bot.commands.queries.ask_one": "ask",
    "bot.commands.prophecy.read_pasted": "read_headline",
    "bot.queries.compose.compose_task": "compose",
}


async def _call(name: str, app: StandInApp, *values: object, **options: object) -> object:
    return await getattr(app, name)(*values, **options)


async def answer_nothing(
    question: str, *, corpus: str, earlier: Sequence[str], now: datetime
) -> CitedAnswer:
    asked = Question(text=question, earlier=tuple(earlier))
    return CitedAnswer(question=asked, outcome=AnswerOutcome.NOTHING, corpora=(corpus,))


@asynccontextmanager
async def bot_on(
    database: Database,
    *,
    limits: ChatSettings | None = None,
    maximum: int = 500,
    max_in_chat: int = 500,
    commands: Registry | None = None,
    read_headline: Callable[..., Awaitable[Headline]] = read,
    corpora: Sequence[Corpus] = (corpus("demo"),),
    private: Sequence[str] = (),
    access: str = "open",
    admins: Collection[str] = (),
    posters: Sequence[Any] = (DeafPoster(),),
    feed_lookup: Any = None,
    step_after: float = 60.0,
    prophesy: StandInEngine | None = None,
    ask: Callable[..., Awaitable[CitedAnswer]] = answer_nothing,
    compose: Compose | None = None,
    daily: int = UNLIMITED,
    usual: str = "demo",
    limit: int = 3,
    minimum_age: timedelta = timedelta(),
    has_model: bool = True,
    feeds_per_chat: int = 50,
    report: Callable[[PresagioError], None] = ignore,
    retry_pauses: Sequence[float] = (),
    patience: float | None = None,
    judge: IntentJudge | None = None,
) -> AsyncIterator[Bot]:
    """Lend one process of the bot. `private` are the chats that may see private corpora, `access`
    is the setting of that name, and `daily` the compositions of a person."""
    engine, known, registry = StandInEngine(), list(corpora), commands or standard_commands()
    lists = {"access": access, "admins": tuple(admins), "private": tuple(private)}
    settings = change_settings(
        chat={**(limits or ChatSettings()).model_dump(), **lists},
        search={"corpus": usual, "limit": limit},
        posting={"minimum_age_days": minimum_age.days},
        polling={"feeds_per_chat": feeds_per_chat},
        compose={"daily": daily},
        llm={"base_url": "http://127.0.0.1:9/v1"} if has_model else {},
    )
    app = StandInApp(
        **app_parts(
            database,
            settings=settings,
            corpora=StandInCorpora(database, known),
            feed_lookup=lambda: feed_lookup or NoFeeds(),
            client=compose,
            posters={poster.platform: poster for poster in posters},
        ),
        listed=known,
        engine=prophesy or engine,
        find=StandInFind(),
        ask=ask,
        read_headline=read_headline,
        compose=compose,
    )
    async with AsyncExitStack() as stack:
        claims = await stack.enter_async_context(EventClaims(database))
        for function, name in STANDING_IN.items():
            stack.enter_context(patch(function, partial(_call, name)))
        conversation = Conversation(
            app,
            doorkeeper=Doorkeeper(Ownership(app), app.settings.chat),
            claims=claims,
            registry=registry,
            judge=judge,
            maximum=maximum,
            max_in_chat=max_in_chat,
            step_after=step_after,
            report=report,
            retry_pauses=retry_pauses,
            patience=patience,
        )
        try:
            yield Bot(conversation, app, engine, MemoryAdapter(), claims, known)
        finally:
            await conversation.drain(0)
