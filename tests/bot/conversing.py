"""A bot without a platform: the conversation on a real database, an adapter that remembers."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import NoReturn
from zlib import crc32

from bot.adapter import Poster
from bot.commands import Registry, Services, standard_commands
from bot.commands.rights import Ownership
from bot.commands.services import (
    Archives,
    Charge,
    ChatAccess,
    ChatStores,
    ComposeServices,
    NewsServices,
    Searches,
)
from bot.conversation.admission import Doorkeeper
from bot.conversation.conversation import Conversation
from bot.conversation.gates import Gates
from bot.conversation.writing import Compose, Writing, WritingParts
from bot.glossary_service import GlossaryService
from bot.jobs.digest import Deciding
from bot.jobs.troubles import ignore
from bot.replies.picture import Pictures
from bot.reply import Reply
from bot.request import Inquiries, Person, Place, Request, Trigger
from bot.settings.model import ChatSettings
from db.chat.answers import Answers, Questions
from db.chat.chats import Access, Chats, Forgetting, Quotas, Waiting
from db.chat.compositions import Compositions
from db.chat.events import EventClaims
from db.corpus.corpora import Corpora
from db.corpus.glossary import Groups
from db.pool import Database
from db.posting.feeds import FeedOffers, Feeds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Finds, Subscriptions
from db.search.find import DialectIndex
from engine.answer.cited_answer import AnswerOutcome, CitedAnswer, Question
from engine.chat import Chat
from engine.errors import CorpusNotFound, FetchFailed, PresagioError
from engine.prophecy.headline import read_headline
from engine.search import Headline
from engine.values import Corpus, Kind
from tests.bot.finds import StandInFind
from tests.bot.prophecies import NOW, StandInEngine
from tests.isolation import InThisProcess
from tests.patience import PATIENCE

PRIVATE = Place(platform="test", chat_id="p", private=True)
GROUP = Place(platform="test", chat_id="g", private=False, title="A group")
ANA = Person(id="ana")

_GROUPS: Mapping[str, type] = {
    "searches": Searches,
    "archives": Archives,
    "stores": ChatStores,
    "access": ChatAccess,
}
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

    async def withdraw(self, request: Request, message: str) -> None:
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
    services: Services
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

    async def press(self, reply: Reply, name: str, **changes: object) -> Reply:
        """Press the first button of a reply whose action has this name."""
        actions = [button.action for row in reply.buttons for button in row]
        wanted = next(str(action) for action in actions if action.name == name)
        return await self.say(wanted, trigger=Trigger.BUTTON, **changes)

    async def chat(self, place: Place = PRIVATE) -> Chat:
        return await self.services.stores.chats.meet(
            place.platform,
            place.chat_id,
            private=place.private,
            title=place.title,
            asked_in="en",
        )

    async def set_up(self, place: Place = GROUP, **changes: object) -> None:
        """Change the settings of a chat."""
        chat = await self.chat(place)
        await self.services.stores.chats.change(replace(chat, **changes))  # type: ignore[arg-type]  # settings of Chat


async def until(holds: Callable[[], object]) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - many things may make it true
            await asyncio.sleep(0.005)


async def read(text: str, *, now: datetime) -> Headline:
    """Read a headline without fetching anything."""
    return read_headline(text)


def glossary_service(database: Database) -> GlossaryService:
    """A glossary without a model."""
    corpora = Corpora(database)
    return GlossaryService(
        groups=Groups(database),
        corpora=corpora,
        index=DialectIndex(database),
        resolve=corpora.get,
    )


def news_services(database: Database, **changes: object) -> NewsServices:
    """A news services on which nothing of the web can be looked up, unless `changes` say so."""

    async def nothing(address: str) -> NoReturn:
        raise FetchFailed(f"No connection to {address}.")

    async def corpora_of(chats: Sequence[Chat]) -> dict[int, str]:
        return {chat.id: chat.corpus or "demo" for chat in chats}

    subscriptions, finds, outbox = Subscriptions(database), Finds(database), Outbox(database)
    values: dict[str, object] = {
        "feeds": Feeds(database),
        "offers": FeedOffers(database),
        "subscriptions": subscriptions,
        "finds": finds,
        "outbox": outbox,
        "deciding": Deciding(
            subscriptions=subscriptions,
            finds=finds,
            outbox=outbox,
            corpora=corpora_of,
        ),
        "look_up": nothing,
        "read_list": nothing,
        "delivers": frozenset({"test"}),
    }
    return NewsServices(**{**values, **changes})  # type: ignore[arg-type]  # the table above has the types


async def answer_nothing(
    question: str, *, corpus: str, earlier: Sequence[str], now: datetime
) -> CitedAnswer:
    """Answer that there is no source."""
    asked = Question(text=question, earlier=tuple(earlier))
    return CitedAnswer(question=asked, outcome=AnswerOutcome.NOTHING, corpora=(corpus,))


def _names(group: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(group))


def wire_services(values: Mapping[str, object]) -> Services:
    """Put each value into the group of services that has a field of its name."""
    groups: dict[str, object] = {
        name: group(**{key: value for key, value in values.items() if key in _names(group)})
        for name, group in _GROUPS.items()
    }
    alone = {key: value for key, value in values.items() if key in _names(Services)}
    return Services(**groups, **alone)  # type: ignore[arg-type]  # as the caller's table has them


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
    trusted: Mapping[str, Mapping[str, object]] | None = None,
    access: str = "open",
    posters: Sequence[Poster] = (),
    step_after: float = 60.0,
    compose: Compose | None = None,
    charge: Charge | None = None,
    report: Callable[[PresagioError], None] = ignore,
    again_after: Sequence[float] = (),
    patience: float | None = None,
    **services: object,
) -> AsyncIterator[Bot]:
    """Lend one process of the bot. `trusted` are changes of the services of some chats, `access`
    is the setting of that name."""
    engine, find, chats, known = StandInEngine(), StandInFind(), Chats(database), list(corpora)

    ownership = Ownership(
        access=Access(database),
        chats=chats,
        posters={poster.platform: poster for poster in posters},
    )

    async def listed() -> Sequence[Corpus]:
        return known

    wired: dict[str, object] = {
        "prophesy": engine,
        "find": find,
        "ask": answer_nothing,
        "read_headline": read_headline,
        "list": listed,
        "pictures": Pictures(avatar=Corpora(database).avatar, isolation=InThisProcess()),
        "chats": chats,
        "answers": Answers(database),
        "questions": Questions(database),
        "news": news_services(database),
        "glossary": glossary_service(database),
        "ownership": ownership,
        "waiting": Waiting(database),
        "forgetting": Forgetting(database),
        "quotas": Quotas(database),
        "usual": "demo",
        "limit": 3,
    }
    async with EventClaims(database) as claims:
        writing = compose and Writing(
            WritingParts(
                tasks=Compositions(database),
                process=lambda: claims.process,
                compose=compose,
                trusted={},
                operators=frozenset(),
            )
        )
        if writing:
            wired["composing"] = ComposeServices(
                tasks=Compositions(database),
                corpora=_named,
                charge=charge or _for_nothing,
                stop=writing.stop,
            )
        chosen = wire_services({**wired, **services})
        registry = commands or standard_commands()
        chosen_limits = limits or ChatSettings()
        gates = Gates(
            chats=chats,
            quotas=Quotas(database),
            limits=chosen_limits
            if access == "open"
            else chosen_limits.model_copy(update={"allow": ()}),
            counts=registry.counts,
            doorkeeper=Doorkeeper(
                ownership,
                open=access == "open",
                allow=chosen_limits.allow,
                operators=chosen.access.admins,
            ),
        )
        conversation = Conversation(
            gates=gates,
            claims=claims,
            chats=chats,
            commands=registry,
            services=chosen,
            trusted={
                chat: wire_services({**wired, **services, **changes})
                for chat, changes in (trusted or {}).items()
            },
            maximum=maximum,
            max_in_chat=max_in_chat,
            step_after=step_after,
            writing=writing,
            report=report,
            again_after=again_after,
            patience=patience,
        )
        try:
            yield Bot(conversation, chosen, engine, MemoryAdapter(), claims, known)
        finally:
            if writing:
                await writing.close()


async def _for_nothing(asker: str, *, now: datetime) -> None:
    """Nobody has a quota."""


async def _named(names: Sequence[str]) -> Sequence[Corpus]:
    """Every corpus exists but "nobody"."""
    if "nobody" in names:
        raise CorpusNotFound("There is no corpus nobody.")
    return [corpus(name) for name in names]
