"""A composer before a stand-in model, with corpora, web and reranker in memory."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from engine.budget import Budget
from engine.compose.composition import (
    ComposeRequest,
    Composition,
    RetrievedPassages,
    SourceKind,
    SourcePassage,
)
from engine.compose.models import ClientModels
from engine.compose.run import Composer
from engine.errors import ModelUnreachable
from engine.llm.client import ChatClient
from engine.llm.spending import Account
from engine.messages import Message
from engine.settings.models import ComposeSettings, LlmSettings
from engine.values import Corpus, Kind, ScoredText
from engine.web.results import WebFindings, WebPage
from tests.engine.passages import ME
from tests.fakes.model import ModelServer
from tests.fakes.ports import MemoryLedger
from tests.fakes.writer import Writer

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
PROMPT = "Write a tweet about coffee prices"


def passage(
    text: str = "Coffee prices rose by 14 % in 2011.",
    *,
    kind: SourceKind = SourceKind.INTERNAL,
    **changes: Any,
) -> SourcePassage:
    values: dict[str, Any] = {
        "key": "me:1",
        "title": "@ana",
        "date": datetime(2011, 3, 28, 12, tzinfo=UTC),
        "url": "https://posts.example/1",
        "score": 0.5,
        "corpus": "me" if kind is SourceKind.INTERNAL else None,
    }
    return SourcePassage(text=text, kind=kind, **(values | changes))


HELD = (
    passage(),
    passage(
        "Frost in Brazil killed the harvest of coffee.", key="me:2", url="https://posts.example/2"
    ),
    passage("Tea stays cheap, said nobody.", key="me:3", url="https://posts.example/3"),
)


@dataclass
class MemoryWeb:
    """A Web of pages that are found by any query."""

    pages: tuple[WebPage, ...] = ()
    available: bool = True
    seconds: float = 0.0
    notices: tuple[Message, ...] = ()
    asked: list[str] = field(default_factory=list)

    async def gather(
        self, queries: Sequence[str], *, deadline: float, now: datetime
    ) -> WebFindings:
        self.asked += queries
        await asyncio.sleep(self.seconds)
        return WebFindings(
            pages=self.pages,
            provider="stand-in",
            searches=len(queries),
            fetched=len(self.pages),
            notices=self.notices,
        )


@dataclass
class Preferring:
    """A Reranker that likes the texts which hold a word."""

    word: str
    name: str = "stand-in"
    fails: bool = False

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> Sequence[float]:
        if self.fails:
            raise ModelUnreachable(Message("It does not answer."))
        return [0.9 if self.word in text.text else 0.1 for text in texts]


class Bench:
    """What a run needs; change it before `compose`."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.writer = Writer()
        server.script = [self.writer]
        self.ledger = MemoryLedger()
        self.held: tuple[SourcePassage, ...] = HELD
        self.web: MemoryWeb | None = None
        self.reranker: Preferring | None = None
        self.settings = ComposeSettings()
        self.corpus: Corpus = ME
        self.budget = Budget()
        self.private_corpora: tuple[str, ...] = ()
        self.base_url = server.base_url
        self.clients: list[ChatClient] = []

    def composer(self) -> Composer:
        async def find(request: ComposeRequest, now: datetime) -> RetrievedPassages:
            return RetrievedPassages(passages=self.held)

        client = ChatClient(
            LlmSettings(base_url=self.base_url, retries=0, private_corpora=self.private_corpora),
            account=Account(self.ledger, self.budget),
            clock=time.monotonic,
        )
        self.clients.append(client)
        reranker = self.reranker
        return Composer(
            find,
            ClientModels(client, self.settings),
            web=self.web,
            rerankers=None if reranker is None else lambda _: reranker,
            settings=self.settings,
            clock=time.monotonic,
        )

    def request(self, **changes: object) -> ComposeRequest:
        return ComposeRequest(**{"prompt": PROMPT, "corpora": (self.corpus,), **changes})  # type: ignore[arg-type]

    async def compose(self, **changes: object) -> Composition:
        return await self.composer().compose(self.request(**changes), now=NOW)

    async def close(self) -> None:
        for client in self.clients:
            await client.aclose()


def private(corpus: Corpus) -> Corpus:
    return replace(corpus, kind=Kind.PERSONAL)
