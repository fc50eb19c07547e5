"""Wires the writing of tweets to the corpora, the language model and the web of an App."""

import time
from collections.abc import Sequence
from datetime import datetime

from bot.app import App
from bot.queries.ask import searcher
from db.chat.quotas import Quotas
from engine.answer.passages import gather
from engine.answer.types import Passage, Question
from engine.compose.compose import Composer
from engine.compose.merge import SAME_MEANING
from engine.compose.models import ClientModels
from engine.compose.retrieve import internal_passages, passage_key, topic
from engine.compose.run import ComposeParts, Find
from engine.compose.types import ComposeRequest, RetrievedPassages
from engine.errors import PresagioError
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.prophecy.question import embedder_of
from engine.settings.section import UNLIMITED
from engine.types import Corpus, SearchRequest


def composer(app: App) -> Composer:
    """Return the composer of an App. It opens nothing before the first request."""
    return Composer(compose_parts(app))


def compose_parts(app: App) -> ComposeParts:
    """Return what a composer needs: the same model, web and ordering as the rest of the App."""
    settings = app.settings.compose
    return ComposeParts(
        find=finder(app),
        models=ClientModels(app.client, settings) if app.client else None,
        web=app.web,
        rerankers=app.rerankers,
        settings=settings,
        clock=time.monotonic,
    )


def finder(app: App) -> Find:
    """Return the retrieval from the corpora: by words, and by meaning where there are vectors."""
    limit = app.settings.compose.retrieved

    async def find(request: ComposeRequest, now: datetime) -> RetrievedPassages:
        about = topic(request.prompt)
        # Nothing is embedded on the fly: the reranker orders what is found.
        asked = SearchRequest(headline=read_headline(about), limit=limit, now=now, embeds=False)
        found = await gather(searcher(app), request.corpora, Question(text=about), asked)
        return RetrievedPassages(
            passages=internal_passages(request, found.passages, most=limit),
            alike=await alike_pairs(app, request.corpora, found.passages),
            notice=found.notice,
        )

    return find


async def alike_pairs(
    app: App, corpora: Sequence[Corpus], found: Sequence[Passage]
) -> frozenset[frozenset[str]]:
    """Return the pairs of passages, by key, whose stored vectors are nearly the same."""
    pairs: set[frozenset[str]] = set()
    for corpus in corpora:
        ids = {one.hit.candidate.id: one for one in found if one.corpus == corpus.name}
        embedder = embedder_of(app.meaning, corpus)
        space = embedder and await app.embeddings.space(corpus, embedder.name)
        if space and ids:
            near = await app.embeddings.alike(corpus, space, list(ids), SAME_MEANING)
            pairs |= {frozenset(passage_key(ids[one]) for one in pair) for pair in near}
    return frozenset(pairs)


async def require_daily(app: App, asker: str, *, now: datetime) -> None:
    """Count one request of somebody in a chat against `compose.daily`.

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
