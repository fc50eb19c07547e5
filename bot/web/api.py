"""The API: what can be asked over HTTP."""

from datetime import UTC
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from bot.replies.buttons import place_json
from bot.web.failures import Refusal
from bot.web.parameters import (
    AskParameters,
    CorpusName,
    ProphecyParameters,
    SearchParameters,
    problems,
)
from bot.web.schemas import AskAnswer, CorporaAnswer, DocumentAnswer, ProphecyAnswer, SearchAnswer
from bot.web.searching import answer_headline, answer_question, search_corpus
from bot.web.shared_state import SharedOf, SharedState, may_ask, paced, paced_answers
from db.search.shown import Shown
from engine.contracts.results import attachments_of
from engine.messages import Message
from engine.query.results import FoundDocument, attribute_document
from engine.values import Corpus

_DEAR = [Depends(paced_answers)]
router = APIRouter(prefix="/api", tags=["ask"], dependencies=[Depends(paced), Depends(may_ask)])


@router.get(
    "/search",
    response_model=SearchAnswer,
    responses=problems(400, 401, 403, 404, 429, 503),
    summary="Find texts by words and by meaning",
)
async def _search(
    shared: SharedOf, asked: Annotated[SearchParameters, Query()]
) -> dict[str, object]:
    """Find texts of one corpus, best first. No model judges them; age does not count."""
    return await search_corpus(shared, asked)


@router.get(
    "/prophecy",
    response_model=ProphecyAnswer,
    responses=problems(400, 401, 403, 404, 429, 503),
    summary="Find the old texts that foretold a headline",
    dependencies=_DEAR,
)
async def _prophecy(
    shared: SharedOf, asked: Annotated[ProphecyParameters, Query()]
) -> dict[str, object]:
    """Answer a headline as `presagio search` does: judged by the model, where one is set up."""
    return await answer_headline(shared, asked)


@router.get(
    "/ask",
    response_model=AskAnswer,
    responses=problems(400, 401, 403, 404, 429, 503),
    summary="Answer a question from the texts",
    dependencies=_DEAR,
)
async def _ask(shared: SharedOf, asked: Annotated[AskParameters, Query()]) -> dict[str, object]:
    """Answer from one corpus, each claim with its sources; without a model, in their words."""
    return await answer_question(shared, asked)


@router.get(
    "/corpora",
    response_model=CorporaAnswer,
    responses=problems(400, 401, 403, 429, 503),
    summary="List the corpora",
)
async def _corpora(shared: SharedOf) -> dict[str, object]:
    """List the corpora that may be asked."""
    return await corpora_json(shared)


@router.get(
    "/documents/{corpus}/{id:path}",
    response_model=DocumentAnswer,
    responses=problems(400, 401, 403, 404, 429, 503),
    summary="Read one text",
)
async def _document(
    shared: SharedOf,
    corpus: CorpusName,
    id: Annotated[str, Path(min_length=1, description="Id at the source.")],  # noqa: A002 - its name in answers
) -> dict[str, object]:
    """Return one text by its corpus and its id at the source."""
    return document_json(*await read_document(shared, corpus, id))


async def corpora_json(shared: SharedState) -> dict[str, object]:
    """Return the corpora that may be asked. Raises StorageError."""
    return {"corpora": [_corpus(one) for one in await shared.app.corpora.list()]}


async def read_document(
    shared: SharedState, corpus: str, external_id: str
) -> tuple[Corpus, FoundDocument]:
    """Return a document with its corpus. Raises CorpusNotFound, Refusal, StorageError."""
    known = await shared.corpus(corpus)
    document = await Shown(shared.app.database).document(known, external_id)
    if document is None:
        raise Refusal(
            HTTPStatus.NOT_FOUND,
            Message("Corpus {corpus} holds no text with this id.", corpus=corpus),
        )
    return known, document


def document_json(corpus: Corpus, document: FoundDocument) -> dict[str, object]:
    """Return a document with the names of `presagio find --json`."""
    document = attribute_document(document, corpus)
    found = document.candidate
    return {
        "corpus": corpus.name,
        "id": found.external_id,
        "created_at": found.created_at.astimezone(UTC).isoformat(),
        "text": found.text,
        "context": found.context,
        "title": document.title,
        "place": place_json(found.place),
        "url": found.url,
        "author": found.author,
        "role": document.role,
        "platform": document.candidate.platform,
        "thread": document.thread,
        "attribution": document.attribution,
        "lang": found.lang,
        "tags": list(document.tags),
        "mentions": list(document.mentions),
        "engagement": document.engagement,
        "attachments": [one.model_dump() for one in attachments_of(document)],
        "participants": list(document.participants),
        "flags": list(found.flags.names),
    }


def _corpus(corpus: Corpus) -> dict[str, object]:
    return {
        "name": corpus.name,
        "kind": corpus.kind.value,
        "language": corpus.language,
        "documents": corpus.documents,
        "author": corpus.author,
    }
