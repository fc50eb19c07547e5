"""Wires the writing of tweets to the corpora, the language model and the web of an App."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bot.app import App
from bot.queries.ask import build_searcher, corpora_for
from db.chat.answers import Answers
from db.chat.compositions import KeptTask
from engine.answer.cited_answer import Passage, Question
from engine.answer.passages import gather_passages
from engine.compose.composition import ComposeRequest, Composition, Progress, RetrievedPassages
from engine.compose.models import ClientModels
from engine.compose.run import Composer, Find
from engine.compose.select import SAME_MEANING, extract_topic, internal_passages, passage_key
from engine.errors import ModelError
from engine.ports import Embedder
from engine.prophecy.headline import read_headline
from engine.prophecy.meaning import LEAST_EMBEDDED_SHARE, embed_text, find_embedder, is_comparable
from engine.search import Mode, SearchRequest
from engine.values import Corpus
from engine.vectors import Vector

_VARIANTS = 3  # of one answer in a chat
_RETRIEVED = 50  # texts of the corpora that are looked at


def build_composer(app: App) -> Composer:
    """Return the composer of an App: the same model, web and ordering as the rest of it."""
    settings = app.settings.compose
    return Composer(
        build_finder(app),
        ClientModels(app.client, settings) if app.client else None,
        web=app.web,
        rerankers=app.rerankers,
        settings=settings,
        clock=time.monotonic,
    )


async def compose_task(app: App, row: KeptTask, now: datetime, progress: Progress) -> Composition:
    """Write what a chat asked for, from the corpora that `app` may see. Raises PresagioError."""
    task = row.task
    request = ComposeRequest(
        prompt=task.prompt,
        corpora=tuple(await corpora_for(app, task.corpora)),
        thread=task.as_thread,
        variants=_VARIANTS,
        found=await _shown_hits(app, row),
    )
    return await build_composer(app).compose(request, now=now, progress=progress)


async def _shown_hits(app: App, row: KeptTask) -> tuple[Passage, ...]:
    """Return the hits that were shown for the headline of a task, or none."""
    if row.task.answer_id is None:
        return ()
    answer = await Answers(app.database).get(row.chat, row.task.answer_id)
    if answer is None:
        return ()
    page = answer.page_at(row.task.first).page
    return tuple(Passage(corpus=answer.prophecy.corpus, hit=hit) for hit in page)


def build_finder(app: App, mode: Mode | None = None) -> Find:
    """Return the retrieval from the corpora: by words, and by meaning where there are vectors.

    Another `mode` than that of the settings is for measurements.
    """

    async def find(request: ComposeRequest, now: datetime) -> RetrievedPassages:
        about = extract_topic(request.prompt)
        # Nothing is embedded on the fly: the reranker orders what is found.
        search = SearchRequest(
            headline=read_headline(about), limit=_RETRIEVED, now=now, mode=mode, embeds=False
        )
        gathered = await gather_passages(
            build_searcher(app), request.corpora, Question(text=about), search
        )
        stored = await stored_meaning(app, request.corpora, about, gathered.passages)
        return RetrievedPassages(
            passages=internal_passages(
                request, gathered.passages, maximum=_RETRIEVED, cosines=stored.cosines
            ),
            alike=frozenset(stored.alike),
            vectors={name: int(100 * share) for name, share in stored.shares.items()},
            notice=gathered.notice,
        )

    return find


@dataclass(frozen=True, slots=True)
class StoredMeaning:
    """What stored vectors tell about passages, by key: cosines with a text, and pairs that are
    nearly the same; and the shares of corpora that have vectors."""

    shares: dict[str, float] = field(default_factory=dict)
    cosines: dict[str, float] = field(default_factory=dict)
    alike: set[frozenset[str]] = field(default_factory=set)


async def stored_meaning(
    app: App, corpora: Sequence[Corpus], text: str, passages: Sequence[Passage]
) -> StoredMeaning:
    """Compare the stored vectors of passages with one another and with a text.

    Those of a corpus count only where nearly all its texts have one, as for finding them.
    The text is compared only where a local model makes vectors: another one costs a call.
    """
    stored = StoredMeaning()
    # Only a local model has a reranker.
    local = app.prophet.meaning and app.prophet.meaning.reranker
    vector: Vector | None = None
    for corpus in corpora:
        own = {p.hit.candidate.id: p for p in passages if p.corpus == corpus.name}
        keys = {key: passage_key(passage) for key, passage in own.items()}
        items = {key: place.item for key, p in own.items() if (place := p.hit.candidate.place)}
        embedder = find_embedder(app.prophet.meaning, corpus)
        space = embedder and await app.embeddings.space(corpus, embedder.name)
        if not (embedder and space and keys):
            continue
        stored.shares[corpus.name] = space.share
        if (
            space.share < LEAST_EMBEDDED_SHARE
        ):  # which texts have vectors already is a matter of chance
            continue
        near = await app.embeddings.alike(corpus, space, list(keys), SAME_MEANING)
        # Parts of one item are alike because it is about one thing, yet each says something else.
        stored.alike.update(
            frozenset(keys[key] for key in pair)
            for pair in near
            if len({items.get(key, key) for key in pair}) > 1
        )
        if not local:
            continue
        vector = vector or await _embed_text(embedder, text)
        if is_comparable(vector, space):
            cosines = await app.embeddings.cosines(corpus, space, vector, list(keys))
            stored.cosines.update((keys[key], cosine) for key, cosine in cosines.items())
    return stored


async def _embed_text(embedder: Embedder, text: str) -> Vector:
    """Return the vector of a text, or an empty one if the model fails, as retrieval then says."""
    try:
        return await embed_text(embedder, text)
    except ModelError:
        return ()
