"""The API: what can be asked over HTTP, in which part of a corpus, and the answers as JSON."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Self

from fastapi import APIRouter, Depends, Path, Query, Request

from bot.app import Retrieval
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
from engine.contracts.answers import ProphecyHit, QuestionAnswer, text_values
from engine.contracts.documents import DocumentAnswer, FindAnswer
from engine.corpora import ALL, news_corpus
from engine.errors import CorpusNotFound
from engine.messages import Message
from engine.ports import SearchIndex, VectorIndex
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.query.meaning import FindMode
from engine.query.results import FoundDocument, QueryAnswer, attribute_document
from engine.search import Candidate, Filters, Hit, SearchRequest, Term
from engine.text.address import address_candidate
from engine.values import Corpus
from engine.vectors import Vector, VectorSpace

# The tag is checked after ranking, among so many documents: more than a month of news has on one
# subject.
_LOOKED_AT = 1000

# Of a document that was deleted after it was found.
_UNKNOWN: Mapping[str, object] = {"title": None, "source": None, "category": None}

_DEAR = [Depends(limit_answers)]
_LAST_PAGED = 1000  # texts that meet a query, over all pages: each page finds those before it again
NOWHERE = Addresses()


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

    def __init__(self, index: SearchIndex, shown: DocumentLookup, tag: str) -> None:
        self._index = index
        self._shown = shown
        self._tag = tag

    async def terms(self, corpus: Corpus, text: str) -> Sequence[Term]:
        """Return the terms of a text."""
        return await self._index.terms(corpus, text)

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> Sequence[Candidate]:
        """Return the best `limit` with the tag."""
        found = await self._index.top(corpus, terms, filters, max(limit, _LOOKED_AT))
        tagged = await self._shown.find_tagged(
            corpus, [candidate.id for candidate in found], self._tag
        )
        return [candidate for candidate in found if candidate.id in tagged][:limit]


class TaggedVectors:
    """Retrieval by meaning among documents with a tag; implements engine.ports.VectorIndex."""

    def __init__(self, vectors: VectorIndex, shown: DocumentLookup, tag: str) -> None:
        self._vectors = vectors
        self._shown = shown
        self._tag = tag

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        """Return the vector space of a model."""
        return await self._vectors.space(corpus, model)

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Return the nearest `limit` with the tag."""
        wide = max(limit, _LOOKED_AT)
        found = await self._vectors.nearest(corpus, space, vector, filters, wide)
        tagged = await self._shown.find_tagged(corpus, [number for number, _ in found], self._tag)
        return [pair for pair in found if pair[0] in tagged][:limit]

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
    async def of(cls, shared: SharedState, asked: FilterParameters) -> Self:
        """Return the scope of a request.

        Raises CorpusNotFound, NotAnswerable, StorageError, and Refusal of an unknown category.
        """
        if not asked.category:
            corpora = await shared.choose_corpora(asked.corpus or "", asked.kind)
            return cls(shared=shared, corpora=tuple(corpora), tag=None)
        return await cls._of_category(shared, asked, asked.category)

    @classmethod
    async def _of_category(
        cls, shared: SharedState, asked: FilterParameters, category: str
    ) -> Self:
        shown, tag = DocumentLookup(shared.app.database), category.casefold()
        known = await shown.categories()
        if asked.corpus or asked.kind:
            corpora = await shared.choose_corpora(asked.corpus or "", asked.kind)
        else:
            try:
                corpora = [news_corpus(await shared.app.corpora.list())]
            except CorpusNotFound:
                if tag in known:
                    raise
                raise _refuse_category(category, known) from None
        if tag not in known and not any([await shown.has_tag(each, tag) for each in corpora]):
            raise _refuse_category(category, known)
        return cls(shared=shared, corpora=tuple(corpora), tag=tag)

    def searcher(self) -> Prophet:
        """Return a Prophet that searches it and gives no weight to the age of texts."""
        app, tag = self.shared.app, self.tag
        if tag is None:
            return build_searcher(app)
        shown = DocumentLookup(app.database)
        index, meaning = TaggedIndex(app.retrieval.index, shown, tag), app.retrieval.meaning
        meaning = meaning and replace(meaning, vectors=TaggedVectors(meaning.vectors, shown, tag))
        return build_searcher(replace(app, retrieval=Retrieval(index=index, meaning=meaning)))

    async def count(self, filters: Filters) -> int:
        """Return how many texts in scope pass the filters."""
        shown = DocumentLookup(self.shared.app.database)
        return sum([await shown.count(each, filters, self.tag) for each in self.corpora])

    def describe(self, asked: FilterParameters, now: datetime) -> dict[str, object]:
        """Return what was asked for, as answers repeat it."""
        return {
            "kind": self.corpora[0].kind if len(self.corpora) == 1 else asked.kind,
            "category": asked.category,
            "period": asked.period,
            "generated_at": now.isoformat(),
        }

    async def origins(self, hits: Sequence[Hit]) -> list[Mapping[str, object]]:
        """Return where each hit comes from, as the API names it."""
        ids = [hit.candidate.id for hit in hits]
        shown, known = DocumentLookup(self.shared.app.database), dict[int, DocumentOrigin]()
        for corpus in self.corpora:
            known |= await shown.origins(corpus, ids)
        return [asdict(known[number]) if number in known else _UNKNOWN for number in ids]


def _refuse_category(name: str, known: Sequence[str]) -> Refusal:
    return Refusal(
        HTTPStatus.NOT_FOUND,
        Message("There is no category {name!r}.", name=name),
        fix=Message("There are: {names}.", names=", ".join(known)) if known else None,
    )


async def search_corpus(
    shared: SharedState, asked: SearchParameters, addresses: Addresses = NOWHERE
) -> SearchAnswer:
    """Return a page of what `presagio search --json` prints, with counts and the request.

    Texts that are only near follow the last hit. Raises CorpusNotFound, NotAnswerable, Refusal,
    StorageError.
    """
    started, now = time.perf_counter(), shared.now()
    skipped, end = asked.skipped, asked.skipped + asked.limit
    scope = await Scope.of(shared, asked)
    filters = Filters(after=asked.period.begins(now), before=now, undated=True)
    request = SearchRequest(
        headline=read_headline(asked.q),
        limit=end + 1,
        now=now,
        filters=filters,
        judged=False,
        mode=asked.mode,
    )
    found = await shared.prophesy_from(scope.corpora, request, scope.searcher())
    more = len(found.hits) > end
    page = replace(
        found, hits=found.hits[skipped:end], near=() if more else found.near[: asked.limit]
    )
    searched = await scope.count(filters)
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = prophecy_answer(page, now=now, elapsed_ms=elapsed_ms)
    origins = await scope.origins(page.hits)
    hits = [
        {
            **dict(hit),
            **origin,
            **addresses.of_text(hit.corpus or answer.corpus, hit.id),
            "similarity": hit.parts.semantic,
        }
        for hit, origin in zip(answer.hits, origins, strict=True)
    ]
    return SearchAnswer.model_validate(
        dict(answer)
        | {"hits": hits, "searched": searched, "returned": len(hits)}
        | {"next": asked.turn_page(end) if more else None}
        | scope.describe(asked, now)
    )


async def find_texts(
    shared: SharedState, asked: FindParameters, addresses: Addresses = NOWHERE
) -> FindPage:
    """Return a page of what `presagio find --json` prints. Raises CorpusNotFound, NotAnswerable,
    UsageError, StorageError, and where vectors are compared, the model's errors."""
    started = time.perf_counter()
    skipped, end = asked.skipped, asked.skipped + asked.limit
    corpora = await shared.choose_corpora(asked.corpus or "")
    found = await find(
        shared.app,
        asked.query,
        corpus=corpora[0].name if len(corpora) == 1 else ALL,
        limit=end,
        voice=True,
        mode=asked.mode,
    )
    page = replace(found, hits=found.hits[skipped:])
    answer = FindAnswer.of(asked.query, page, elapsed_ms=(time.perf_counter() - started) * 1000)
    hits = [
        hit | addresses.of_text(hit["corpus"] or answer.corpus, hit["id"]) for hit in answer.hits
    ]
    more = asked.mode is not FindMode.RERANK and _goes_on(found, end)
    return FindPage.model_validate(
        dict(answer)
        | {"hits": hits, "counts": answer.counts | {"returned": len(hits)}}
        | {"next": asked.turn_page(end) if more else None}
    )


def _goes_on(found: QueryAnswer, end: int) -> bool:
    """Tell whether there may be texts after the first ones, up to the last that is paged."""
    counts = found.counts
    rest = counts.distinct > counts.returned or counts.fetched < counts.passing
    return rest and counts.returned == end < _LAST_PAGED


async def answer_headline(
    shared: SharedState, asked: ProphecyParameters, addresses: Addresses = NOWHERE
) -> HeadlineAnswer:
    """Return what `presagio search --json` prints about a headline.

    Raises CorpusNotFound, NotAnswerable, Refusal, StorageError.
    """
    started, now = time.perf_counter(), shared.now()
    request = SearchRequest(
        headline=read_headline(asked.headline, date=asked.date),
        limit=asked.limit,
        now=now,
        mode=asked.mode,
        exclude_recent=asked.exclude_recent,
    )
    corpora = await shared.choose_corpora(asked.corpus or "")
    prophecy = await shared.prophesy_from(corpora, request, shared.app.prophet)
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = prophecy_answer(prophecy, now=now, elapsed_ms=elapsed_ms)

    def add_links(hits: Sequence[ProphecyHit]) -> list[dict[str, object]]:
        return [
            {**dict(hit), **addresses.of_text(hit.corpus or answer.corpus, hit.id)} for hit in hits
        ]

    return HeadlineAnswer.model_validate(
        dict(answer)
        | {"hits": add_links(answer.hits), "near": add_links(answer.near)}
        | addresses.of_prophecy(prophecy, asked.headline, asked.date or now)
    )


async def answer_question(
    shared: SharedState, asked: AskParameters, addresses: Addresses = NOWHERE
) -> AskAnswer:
    """Return what `presagio ask --json` prints, with the request.

    Raises CorpusNotFound, NotAnswerable, Refusal, StorageError.
    """
    started, now = time.perf_counter(), shared.now()
    scope = await Scope.of(shared, asked)
    request = SearchRequest(
        headline=read_headline(asked.question),
        limit=asked.limit,
        now=now,
        filters=Filters(after=asked.period.begins(now)),
        mode=asked.mode,
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
        dict(answer) | {"sources": sources} | scope.describe(asked, now)
    )


@router.get(
    "/search",
    response_model=SearchAnswer,
    responses=describe_problems(400, 401, 403, 404, 409, 429, 503),
    summary="Find texts by words and by meaning",
    dependencies=[SEARCHES],
)
async def _search(
    shared: SharedOf, addresses: AddressesOf, asked: Annotated[SearchParameters, Query()]
) -> SearchAnswer:
    """Find texts of a corpus, or of all, best first. No model judges them; age does not count."""
    return await search_corpus(shared, asked, addresses)


@router.get(
    "/find",
    response_model=FindPage,
    responses=describe_problems(400, 401, 403, 404, 409, 429, 503),
    summary="Find exactly the texts that meet a query",
    dependencies=[SEARCHES],
)
async def _find(
    shared: SharedOf, addresses: AddressesOf, asked: Annotated[FindParameters, Query()]
) -> FindPage:
    """Find all texts that meet a query of the dialect, and count them."""
    return await find_texts(shared, asked, addresses)


@router.get(
    "/prophecy",
    response_model=HeadlineAnswer,
    responses=describe_problems(400, 401, 403, 404, 409, 429, 503),
    summary="Find the old texts that foretold a headline",
    dependencies=_DEAR,
)
async def _prophecy(
    shared: SharedOf, addresses: AddressesOf, asked: Annotated[ProphecyParameters, Query()]
) -> HeadlineAnswer:
    """Answer a headline as `presagio search` does: judged by the model, where one is set up."""
    return await answer_headline(shared, asked, addresses)


@router.get(
    "/ask",
    response_model=AskAnswer,
    responses=describe_problems(400, 401, 403, 404, 409, 429, 503),
    summary="Answer a question from the texts",
    dependencies=_DEAR,
)
async def _ask(
    shared: SharedOf, addresses: AddressesOf, asked: Annotated[AskParameters, Query()]
) -> AskAnswer:
    """Answer from a corpus or all, each claim with its sources; without a model, in their words."""
    return await answer_question(shared, asked, addresses)


@router.get(
    "/corpora",
    response_model=CorporaAnswer,
    responses=describe_problems(400, 401, 403, 429, 503),
    summary="List the corpora",
)
async def _corpora(shared: SharedOf) -> CorporaAnswer:
    """List the corpora that may be asked."""
    return await describe_corpora(shared)


@router.get(
    "/documents/{corpus}",
    response_model=MonthAnswer,
    responses=describe_problems(400, 401, 403, 404, 409, 429, 503),
    summary="List the texts of a month",
)
async def _documents(
    shared: SharedOf,
    addresses: AddressesOf,
    corpus: CorpusName,
    asked: Annotated[MonthParameters, Query()],
) -> MonthAnswer:
    """List the texts of a month of a corpus, oldest first, and the months that it has."""
    return await list_month(shared, corpus, asked, addresses)


@router.get(
    "/documents/{corpus}/{id:path}",
    response_model=AddressedDocument,
    responses=describe_problems(400, 401, 403, 404, 429, 503),
    summary="Read one text",
)
async def _document(
    shared: SharedOf,
    addresses: AddressesOf,
    corpus: CorpusName,
    id: Annotated[str, Path(min_length=1, description="Id at the source.")],  # noqa: A002 - its name in answers
) -> AddressedDocument:
    """Return one text by its corpus and its id at the source."""
    return await describe_document(shared, corpus, id, addresses)


async def describe_corpora(shared: SharedState) -> CorporaAnswer:
    """Return the corpora that may be asked. Raises StorageError."""
    return CorporaAnswer(corpora=list(map(CorpusAnswer.of, await shared.app.corpora.list())))


def month_span(month: str) -> tuple[datetime, datetime]:
    """Return when a month ("2015-03") begins, and when the next does."""
    begins = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
    return begins, (begins + timedelta(days=31)).replace(day=1)


async def list_month(
    shared: SharedState, name: str, asked: MonthParameters, addresses: Addresses
) -> MonthAnswer:
    """Return a page of the texts of a month. Raises CorpusNotFound, NotAnswerable, StorageError."""
    corpus, skipped, end = await shared.app.corpus(name), asked.skipped, asked.skipped + asked.limit
    months = await shared.count_months(corpus)
    month = asked.month or max(months, default=None)
    texts: Sequence[ArchiveText] = ()
    if month and month in months:
        texts = await DocumentLookup(shared.app.database).list_texts(
            corpus, *month_span(month), limit=asked.limit + 1, offset=skipped
        )
    return MonthAnswer(
        corpus=corpus.name,
        month=month,
        months=dict(months),
        documents=[_describe_text(corpus, text, addresses) for text in texts[: asked.limit]],
        next=asked.turn_page(end) if len(texts) > asked.limit else None,
    )


def _describe_text(corpus: Corpus, text: ArchiveText, addresses: Addresses) -> ArchivedText:
    found = address_candidate(text.candidate, corpus)
    return ArchivedText(
        **text_values(found),
        **addresses.of_text(corpus.name, found.external_id),
        lang=found.lang,
        engagement=text.engagement,
        continues=text.continues,
    )


async def describe_document(
    shared: SharedState, corpus: str, external_id: str, addresses: Addresses = NOWHERE
) -> AddressedDocument:
    """Return a document of a corpus. Raises CorpusNotFound, Refusal, StorageError."""
    known, document = await read_document(shared, corpus, external_id)
    answer = DocumentAnswer.of(known.name, attribute_document(document, known))
    links = addresses.of_text(known.name, external_id)
    return AddressedDocument.model_validate(dict(answer) | links)


async def read_document(
    shared: SharedOf,
    corpus: str,
    id: str,  # noqa: A002 - its name in answers
) -> tuple[Corpus, FoundDocument]:
    """Return a document with its corpus. Raises CorpusNotFound, Refusal, StorageError."""
    known = await shared.app.corpus(corpus)
    document = await DocumentLookup(shared.app.database).document(known, id)
    if document is None:
        raise Refusal(
            HTTPStatus.NOT_FOUND,
            Message("Corpus {corpus} holds no text with this id.", corpus=corpus),
        )
    return known, document


# Of the corpus and the id in a path.
DocumentOf = Annotated[tuple[Corpus, FoundDocument], Depends(read_document)]
