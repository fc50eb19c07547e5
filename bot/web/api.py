"""The API: what can be asked over HTTP, in which part of a corpus, and the answers as JSON."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Self

from fastapi import APIRouter, Depends, Path, Query, Request

from bot.queries.ask import ask, build_searcher
from bot.queries.find import find
from bot.replies.prophecy import prophecy_answer
from bot.web.addresses import Addresses
from bot.web.failures import Refusal, describe_problems
from bot.web.schemas import (
    AddressedDocument,
    ArchivedText,
    AskAnswer,
    AskParameters,
    CorporaAnswer,
    CorpusAnswer,
    CorpusName,
    FilterParameters,
    FindPage,
    FindParameters,
    HeadlineAnswer,
    MonthAnswer,
    MonthParameters,
    ProphecyParameters,
    SearchAnswer,
    SearchParameters,
)
from bot.web.shared_state import (
    SEARCHES,
    SharedOf,
    SharedState,
    limit_answers,
    limit_requests,
    may_ask,
    refuse_repeats,
)
from db.search.shown import ArchiveText, DocumentLookup, DocumentOrigin
from engine.contracts.answers import ProphecyAnswer, ProphecyHit, QuestionAnswer, text_values
from engine.contracts.results import DocumentAnswer, FindAnswer, FoundHit
from engine.corpora import ALL, find_news_corpus
from engine.errors import CorpusNotFound
from engine.messages import Message
from engine.ports import SearchIndex, VectorIndex
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.query.find import FindMode
from engine.query.results import FoundDocument, attribute_document
from engine.search import Candidate, Filters, Hit, SearchRequest, Term
from engine.text.address import address_candidate
from engine.values import Corpus
from engine.vectors import Vector, VectorSpace

# The tag is checked after ranking, among so many documents: more than a month of news has on one
# subject.
_LOOKED_AT = 1000

# Of a document that was deleted after it was found.
_UNKNOWN: Mapping[str, object] = {"title": None, "source": None, "category": None}

_PROBLEMS = describe_problems(400, 401, 403, 404, 409, 429, 503)
_DEAR = [Depends(limit_answers)]
_LAST_PAGED = 1000  # texts that meet a query, over all pages: each page finds those before it again


async def _read_addresses(request: Request, shared: SharedOf) -> Addresses:
    return Addresses.of(shared, request)


AddressesOf = Annotated[Addresses, Depends(_read_addresses)]
router = APIRouter(
    prefix="/api",
    tags=["ask"],
    dependencies=[Depends(limit_requests), Depends(may_ask), Depends(refuse_repeats)],
)


class TaggedIndex:
    """Lexical retrieval among documents with a tag; implements engine.ports.SearchIndex."""

    def __init__(self, index: SearchIndex, lookup: DocumentLookup, tag: str) -> None:
        self._index = index
        self._shown = lookup
        self._tag = tag

    async def terms(self, corpus: Corpus, text: str) -> Sequence[Term]:
        """Return the terms of a text."""
        return await self._index.terms(corpus, text)

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> Sequence[Candidate]:
        """Return the best `limit` with the tag."""
        candidates = await self._index.top(corpus, terms, filters, max(limit, _LOOKED_AT))
        tagged = await self._shown.find_tagged(
            corpus, [candidate.id for candidate in candidates], self._tag
        )
        return [candidate for candidate in candidates if candidate.id in tagged][:limit]


class TaggedVectors:
    """Retrieval by meaning among documents with a tag; implements engine.ports.VectorIndex."""

    def __init__(self, vectors: VectorIndex, lookup: DocumentLookup, tag: str) -> None:
        self._vectors = vectors
        self._shown = lookup
        self._tag = tag

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        """Return the vector space of a model."""
        return await self._vectors.space(corpus, model)

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Return the nearest `limit` with the tag."""
        wide = max(limit, _LOOKED_AT)
        nearest = await self._vectors.nearest(corpus, space, vector, filters, wide)
        tagged = await self._shown.find_tagged(corpus, [number for number, _ in nearest], self._tag)
        return [pair for pair in nearest if pair[0] in tagged][:limit]

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Return the cosine of each of `ids`."""
        return await self._vectors.cosines(corpus, space, vector, ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is searched: corpora, or only the documents of one from feeds of one category."""

    shared: SharedState
    corpora: tuple[Corpus, ...]
    tag: str | None

    @classmethod
    async def of(cls, shared: SharedState, parameters: FilterParameters) -> Self:
        """Return the scope of a request.

        Raises CorpusNotFound, NotAnswerable, StorageError, and Refusal of an unknown category.
        """
        name, kind, category = parameters.corpus or "", parameters.kind, parameters.category
        if not category:
            corpora = await shared.choose_corpora(name, kind)
            return cls(shared=shared, corpora=tuple(corpora), tag=None)
        lookup, tag = DocumentLookup(shared.app.database), category.casefold()
        categories = await lookup.categories()
        if name or kind:
            corpora = await shared.choose_corpora(name, kind)
        else:
            try:
                corpora = [find_news_corpus(await shared.app.corpora.list())]
            except CorpusNotFound:
                if tag in categories:
                    raise
                corpora = []
        if tag in categories or any([await lookup.has_tag(each, tag) for each in corpora]):
            return cls(shared=shared, corpora=tuple(corpora), tag=tag)
        raise Refusal(
            HTTPStatus.NOT_FOUND,
            Message("There is no category {name!r}.", name=category),
            fix=Message("There are: {names}.", names=", ".join(categories)) if categories else None,
        )

    def searcher(self) -> Prophet:
        """Return a Prophet that searches it and gives no weight to the age of texts."""
        app, tag = self.shared.app, self.tag
        if tag is None:
            return build_searcher(app)
        lookup = DocumentLookup(app.database)
        index, meaning = TaggedIndex(app.prophet.index, lookup, tag), app.prophet.meaning
        meaning = meaning and replace(meaning, vectors=TaggedVectors(meaning.vectors, lookup, tag))
        return build_searcher(replace(app, prophet=Prophet(index, meaning=meaning)))

    async def count(self, filters: Filters) -> int:
        """Return how many texts in scope pass the filters."""
        lookup = DocumentLookup(self.shared.app.database)
        return sum([await lookup.count(each, filters, self.tag) for each in self.corpora])

    def describe(self, parameters: FilterParameters, now: datetime) -> dict[str, object]:
        """Return what was asked for, as answers repeat it."""
        return {
            "kind": self.corpora[0].kind if len(self.corpora) == 1 else parameters.kind,
            "category": parameters.category,
            "period": parameters.period,
            "generated_at": now.isoformat(),
        }

    async def origins(self, hits: Sequence[Hit]) -> list[Mapping[str, object]]:
        """Return where each hit comes from, as the API names it."""
        ids = [hit.candidate.id for hit in hits]
        visible, origins = DocumentLookup(self.shared.app.database), dict[int, DocumentOrigin]()
        for corpus in self.corpora:
            origins |= await visible.origins(corpus, ids)
        return [asdict(origins[number]) if number in origins else _UNKNOWN for number in ids]


@router.get(
    "/search",
    name="search",
    responses=_PROBLEMS,
    summary="Find texts by words and by meaning",
    description="Find texts of a corpus, or of all, best first. No model judges them; age does not"
    " count.",
    dependencies=[SEARCHES],
)
async def search_corpus(
    shared: SharedOf, parameters: Annotated[SearchParameters, Query()], addresses: AddressesOf
) -> SearchAnswer:
    """Return a page of what `presagio search --json` prints, with counts and the request.

    Texts that are only near follow the last hit. Raises CorpusNotFound, NotAnswerable, Refusal,
    StorageError.
    """
    started, now = time.perf_counter(), shared.now()
    skipped, end = parameters.skipped, parameters.skipped + parameters.limit
    scope = await Scope.of(shared, parameters)
    filters = Filters(after=parameters.period.begins(now), before=now, undated=True)
    request = SearchRequest(
        headline=read_headline(parameters.q),
        limit=end + 1,
        now=now,
        filters=filters,
        judged=False,
        mode=parameters.mode,
    )
    prophecy = await shared.prophesy_from(scope.corpora, request, scope.searcher())
    more = len(prophecy.hits) > end
    page = replace(
        prophecy,
        hits=prophecy.hits[skipped:end],
        near=() if more else prophecy.near[: parameters.limit],
    )
    searched = await scope.count(filters)
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = prophecy_answer(page, now=now, elapsed_ms=elapsed_ms)
    hits = await _describe_hits(scope, answer, page.hits, addresses)
    return SearchAnswer.model_validate(
        dict(answer)
        | {"hits": hits, "searched": searched, "returned": len(hits)}
        | {"next": parameters.turn_page(end) if more else None}
        | scope.describe(parameters, now)
    )


async def _describe_hits(
    scope: Scope, answer: ProphecyAnswer, hits: Sequence[Hit], addresses: Addresses
) -> list[dict[str, object]]:
    """Return the hits of an answer with their addresses and where they come from."""
    links = _add_links(answer.hits, answer.corpus, addresses)
    return [
        {**link, **origin, "similarity": hit.parts.semantic}
        for hit, link, origin in zip(answer.hits, links, await scope.origins(hits), strict=True)
    ]


@router.get(
    "/find",
    name="find",
    responses=_PROBLEMS,
    summary="Find exactly the texts that meet a query",
    description="Find all texts that meet a query of the dialect, and count them.",
    dependencies=[SEARCHES],
)
async def find_texts(
    shared: SharedOf, parameters: Annotated[FindParameters, Query()], addresses: AddressesOf
) -> FindPage:
    """Return a page of what `presagio find --json` prints. Raises CorpusNotFound, NotAnswerable,
    UsageError, StorageError, and where vectors are compared, the model's errors."""
    started = time.perf_counter()
    skipped, end = parameters.skipped, parameters.skipped + parameters.limit
    corpora = await shared.choose_corpora(parameters.corpus or "")
    found = await find(
        shared.app,
        parameters.query,
        corpus=corpora[0].name if len(corpora) == 1 else ALL,
        limit=end,
        voice=True,
        mode=parameters.mode,
    )
    hits = found.hits[skipped:]
    page = replace(found, hits=hits, counts=replace(found.counts, returned=len(hits)))
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = FindAnswer.of(parameters.query, page, elapsed_ms=elapsed_ms)
    counts = found.counts
    # There may be texts after these, up to the last that is paged.
    rest = counts.distinct > counts.returned or counts.fetched < counts.passing
    more = parameters.mode is not FindMode.RERANK and rest and counts.returned == end < _LAST_PAGED
    return FindPage.model_validate(
        dict(answer)
        | {"hits": _add_links(answer.hits, answer.corpus, addresses)}
        | {"next": parameters.turn_page(end) if more else None}
    )


def _add_links(
    hits: Sequence[ProphecyHit | FoundHit], corpus: str, addresses: Addresses
) -> list[dict[str, object]]:
    return [{**dict(hit), **addresses.of_text(hit.corpus or corpus, hit.id)} for hit in hits]


@router.get(
    "/prophecy",
    name="prophecy",
    responses=_PROBLEMS,
    summary="Find the old texts that foretold a headline",
    description="Answer a headline as `presagio search` does: judged by the model, where one is set"
    " up.",
    dependencies=_DEAR,
)
async def answer_headline(
    shared: SharedOf, parameters: Annotated[ProphecyParameters, Query()], addresses: AddressesOf
) -> HeadlineAnswer:
    """Return what `presagio search --json` prints about a headline.

    Raises CorpusNotFound, NotAnswerable, Refusal, StorageError.
    """
    started, now = time.perf_counter(), shared.now()
    request = SearchRequest(
        headline=read_headline(parameters.headline, date=parameters.date),
        limit=parameters.limit,
        now=now,
        mode=parameters.mode,
        exclude_recent=parameters.exclude_recent,
    )
    corpora = await shared.choose_corpora(parameters.corpus or "")
    prophecy = await shared.prophesy_from(corpora, request, shared.app.prophet)
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = prophecy_answer(prophecy, now=now, elapsed_ms=elapsed_ms)
    links = {
        name: _add_links(hits, answer.corpus, addresses)
        for name, hits in (("hits", answer.hits), ("near", answer.near))
    }
    return HeadlineAnswer.model_validate(
        dict(answer)
        | links
        | addresses.of_prophecy(prophecy, parameters.headline, parameters.date or now)
    )


@router.get(
    "/ask",
    name="ask",
    responses=_PROBLEMS,
    summary="Answer a question from the texts",
    description="Answer from a corpus or all, each claim with its sources; without a model, in"
    " their words.",
    dependencies=_DEAR,
)
async def answer_question(
    shared: SharedOf, parameters: Annotated[AskParameters, Query()], addresses: AddressesOf
) -> AskAnswer:
    """Return what `presagio ask --json` prints, with the request.

    Raises CorpusNotFound, NotAnswerable, Refusal, StorageError.
    """
    started, now = time.perf_counter(), shared.now()
    scope = await Scope.of(shared, parameters)
    request = SearchRequest(
        headline=read_headline(parameters.question),
        limit=parameters.limit,
        now=now,
        filters=Filters(after=parameters.period.begins(now)),
        mode=parameters.mode,
    )
    answered = await ask(shared.app, request, scope.corpora, prophet=scope.searcher())
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = QuestionAnswer.of(answered, elapsed_ms=elapsed_ms)
    origins = await scope.origins([source.passage.hit for source in answered.sources])
    sources = [
        {**dict(source), **origin, **addresses.of_text(source.corpus, source.id)}
        for source, origin in zip(answer.sources, origins, strict=True)
    ]
    return AskAnswer.model_validate(
        dict(answer) | {"sources": sources} | scope.describe(parameters, now)
    )


@router.get(
    "/corpora",
    name="corpora",
    responses=describe_problems(400, 401, 403, 429, 503),
    summary="List the corpora",
    description="List the corpora that may be asked.",
)
async def describe_corpora(shared: SharedOf) -> CorporaAnswer:
    """Return the corpora that may be asked. Raises StorageError."""
    return CorporaAnswer(corpora=list(map(CorpusAnswer.of, await shared.app.corpora.list())))


def month_span(month: str) -> tuple[datetime, datetime]:
    """Return when a month ("2015-03") begins, and when the next does."""
    begins = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
    return begins, (begins + timedelta(days=31)).replace(day=1)


@router.get(
    "/documents/{corpus}",
    name="documents",
    responses=_PROBLEMS,
    summary="List the texts of a month",
    description="List the texts of a month of a corpus, oldest first, and the months that it has.",
)
async def list_month(
    shared: SharedOf,
    corpus: CorpusName,
    parameters: Annotated[MonthParameters, Query()],
    addresses: AddressesOf,
) -> MonthAnswer:
    """Return a page of the texts of a month. Raises CorpusNotFound, NotAnswerable, StorageError."""
    stored = await shared.app.corpus(corpus)
    skipped, limit = parameters.skipped, parameters.limit
    months = await shared.count_months(stored)
    month = parameters.month or max(months, default=None)
    texts: Sequence[ArchiveText] = ()
    if month and month in months:
        texts = await DocumentLookup(shared.app.database).list_texts(
            stored, *month_span(month), limit=limit + 1, offset=skipped
        )
    return MonthAnswer(
        corpus=stored.name,
        month=month,
        months=dict(months),
        documents=[_describe_text(stored, text, addresses) for text in texts[:limit]],
        next=parameters.turn_page(skipped + limit) if len(texts) > limit else None,
    )


def _describe_text(corpus: Corpus, text: ArchiveText, addresses: Addresses) -> ArchivedText:
    candidate = address_candidate(text.candidate, corpus)
    return ArchivedText(
        **text_values(candidate),
        **addresses.of_text(corpus.name, candidate.external_id),
        lang=candidate.lang,
        engagement=text.engagement,
        continues=text.continues,
    )


@router.get(
    "/documents/{corpus}/{id:path}",
    name="document",
    responses=describe_problems(400, 401, 403, 404, 429, 503),
    summary="Read one text",
    description="Return one text by its corpus and its id at the source.",
)
async def describe_document(
    shared: SharedOf,
    corpus: CorpusName,
    id: Annotated[str, Path(min_length=1, description="Id at the source.")],  # noqa: A002 - its name in answers
    addresses: AddressesOf,
) -> AddressedDocument:
    """Return a document of a corpus. Raises CorpusNotFound, Refusal, StorageError."""
    corpus_row, document = await read_document(shared, corpus, id)
    answer = DocumentAnswer.of(corpus_row.name, attribute_document(document, corpus_row))
    links = addresses.of_text(corpus_row.name, id)
    return AddressedDocument.model_validate(dict(answer) | links)


async def read_document(
    shared: SharedOf,
    corpus: str,
    id: str,  # noqa: A002 - its name in answers
) -> tuple[Corpus, FoundDocument]:
    """Return a document with its corpus. Raises CorpusNotFound, Refusal, StorageError."""
    stored = await shared.app.corpus(corpus)
    document = await DocumentLookup(shared.app.database).document(stored, id)
    if document is None:
        raise Refusal(
            HTTPStatus.NOT_FOUND,
            Message("Corpus {corpus} holds no text with this id.", corpus=corpus),
        )
    return stored, document


# Of the corpus and the id in a path.
DocumentOf = Annotated[tuple[Corpus, FoundDocument], Depends(read_document)]
