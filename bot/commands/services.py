"""What the handlers of commands need: searches, stores, and access to the web."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from bot.commands.rights import Ownership
from bot.glossary_service import GlossaryService
from bot.jobs.digest import Deciding
from bot.replies.picture import Pictures
from bot.reply import Action
from bot.request import Request
from db.chat.answers import Answers, Questions
from db.chat.chats import Chats, Forgetting, Quotas, Waiting
from db.chat.compositions import Compositions
from db.posting.feeds import FeedOffers, Feeds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Finds, Subscriptions
from engine.answer.cited_answer import CitedAnswer
from engine.chat import Answer, Chat
from engine.feeds.lookup import FoundFeed, OpmlFeed, ReadableFeed
from engine.ingest.records import TableLayout
from engine.messages import Message
from engine.query.results import QueryAnswer
from engine.search import Headline, Prophecy, SearchRequest
from engine.settings import UNLIMITED
from engine.values import Corpus, Kind

LookUp = Callable[[str], Awaitable[ReadableFeed | tuple[FoundFeed, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsServices:
    """Stores and web access for news commands. `look_up` and `read_list` raise FetchError."""

    feeds: Feeds
    offers: FeedOffers
    subscriptions: Subscriptions
    finds: Finds
    outbox: Outbox
    deciding: Deciding
    look_up: LookUp
    read_list: Callable[[str], Awaitable[tuple[OpmlFeed, ...]]]  # OPML, or its address
    feeds_per_chat: int = 50
    has_model: bool = True
    delivers: frozenset[str] = frozenset()  # platforms whose outbox is delivered

    def room(self, own: int) -> int | None:
        """Return how many more feeds a chat with `own` feeds may add, or None if unlimited."""
        return None if self.feeds_per_chat == UNLIMITED else max(self.feeds_per_chat - own, 0)


class Charge(Protocol):
    """Counts what is written for people."""

    async def __call__(self, asker: str, *, now: datetime) -> None:
        """Count one more for `asker`. Raises PresagioError beyond the daily quota."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeServices:
    """Writing tweets from evidence. `corpora` raises CorpusNotFound; `charge` counts a task of
    somebody and raises PresagioError if it is one too many today; `stop` ends a task that this
    process works on, and returns once its message will not change any more."""

    tasks: Compositions
    corpora: Callable[[Sequence[str]], Awaitable[Sequence[Corpus]]]
    charge: Charge
    stop: Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedArchive:
    """A file that waits under a `key`: what it holds, and which corpus it would fill; how it is
    read, if it is a table of which something was guessed; and what is in it and not read."""

    key: str
    kind: Kind  # of the corpus: personal as soon as anything is
    kinds: tuple[Kind, ...]  # of what it holds
    corpus: str
    is_known: bool  # there is a corpus of that name
    table: TableLayout | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedArchive:
    """The corpus that a file was loaded into. `other_language` is that of texts which it reads in
    another one, as `ingest --language` names it."""

    corpus: Corpus
    other_language: str | None = None


class ArchiveLoader(Protocol):
    """Loads files that the owner sends, as `presagio ingest` does, and changes archives. Times of a
    table that name no zone are read in `zone`; of others it is None."""

    async def receive(
        self, name: str, fetch: Callable[[Path], Awaitable[None]], *, zone: str
    ) -> OfferedArchive:
        """Keep a file for a day, and tell what it holds. Raises PresagioError."""

    async def load(self, key: str, *, zone: str | None) -> LoadedArchive | None:
        """Load a file; return None if it is gone. Raises PresagioError."""

    def drop(self, key: str) -> None:
        """Delete a file."""

    async def find(self, name: str) -> Corpus:
        """Return the archive of that name. Raises CorpusNotFound."""

    async def change(
        self,
        name: str,
        *,
        author: str | None = None,
        display_name: str | None = None,
        description: str | None = None,
    ) -> Corpus:
        """Change whose texts an archive holds, and what is said of it. Raises CorpusNotFound."""

    async def remove(self, number: str) -> str | None:
        """Remove an archive by its id, and return its name; None if it is gone."""


class Prophesy(Protocol):
    """Finds the texts that foretold a headline."""

    async def __call__(self, request: SearchRequest, *, corpus: str) -> Prophecy:
        """Return the hits from the corpus of that name. Raises PresagioError."""


class FindQuery(Protocol):
    """Answers queries of the dialect."""

    async def __call__(self, text: str, *, corpus: str, limit: int) -> QueryAnswer:
        """Return at most `limit` hits. Raises PresagioError."""


class Ask(Protocol):
    """Answers questions about a corpus."""

    async def __call__(
        self, question: str, *, corpus: str, earlier: Sequence[str], now: datetime
    ) -> CitedAnswer:
        """Return the answer; `earlier` has past questions, oldest first. Raises PresagioError."""


class ReadHeadline(Protocol):
    """Reads a headline from pasted text, fetching the page if it is just a link."""

    async def __call__(self, text: str, *, now: datetime) -> Headline:
        """Return the headline. Raises PresagioError if a page cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searches:
    """The questions that the archives answer, and the limits of the answers."""

    prophesy: Prophesy
    find: FindQuery
    ask: Ask
    read_headline: ReadHeadline
    limit: int  # hits per answer
    unjudged_coverage: float = 0.5  # lexical coverage at which an unjudged hit is posted unasked
    minimum_age: timedelta = timedelta()  # by which a tweet must precede its headline
    advice: Message | None = None  # for the owner: how answers that nobody judges become better


@dataclass(frozen=True, slots=True, kw_only=True)
class Archives:
    """The archives that a chat may see."""

    list: Callable[[], Awaitable[Sequence[Corpus]]]
    glossary: GlossaryService
    usual: str  # the configured one; "" means the only one

    def name_for(self, chat: Chat) -> str:
        """Return the name of the archive that the chat searches; "" means the only one."""
        return chat.corpus or self.usual


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatStores:
    """What is remembered of chats."""

    chats: Chats
    answers: Answers
    questions: Questions
    waiting: Waiting
    forgetting: Forgetting
    quotas: Quotas


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAccess:
    """Who may use and steer the bot."""

    ownership: Ownership
    admins: frozenset[str] = frozenset()  # operators, as "platform:user"
    serves: Callable[[str], bool] = lambda _: True  # whether the lists admit "platform:chat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that handlers use."""

    searches: Searches
    archives: Archives
    stores: ChatStores
    access: ChatAccess
    news: NewsServices
    pictures: Pictures
    composing: ComposeServices | None = None  # None without a language model
    loader: ArchiveLoader | None = None  # None where nothing can be loaded from a chat

    async def find_answer(self, request: Request, action: Action) -> Answer | None:
        """Return the answer that a button is of, or None if it is gone. Raises StorageError."""
        return await self.stores.answers.get(request.known_chat, action.answer_id or 0)

    async def find_page(self, request: Request, action: Action) -> Answer | None:
        """Return the page of its answer that a button names, or None. Raises StorageError."""
        answer = await self.find_answer(request, action)
        return answer.page_named(action.value) if answer else None
