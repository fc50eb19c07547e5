"""The search page: the posts of an archive that meet a query, in pages, as CSV and as JSON."""

import csv
import io
from collections.abc import Sequence
from enum import StrEnum

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from bot.i18n.words import Words
from bot.queries.find import find
from bot.web.browsing import ON_A_PAGE, ArchiveEntry, describe_entry
from bot.web.rendering import render_template, web_address
from bot.web.schemas import LONGEST_TEXT
from bot.web.shared_state import SEARCHES, SharedOf, SharedState, limit_requests
from bot.web.visitor import ProphecyForm, VisitorOf, list_choices
from db.search.shown import DocumentLookup
from engine.query.query import Plan
from engine.query.results import FindHit, QueryAnswer
from engine.search import order_by_date

MAXIMUM = 300  # texts that meet a query
_OWN_WORDS = " -is:repost -is:quote"
_COLUMNS = ("id", "created_at", "author", "likes", "url", "text")

searching = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


class Order(StrEnum):
    """In which order posts stand."""

    RELEVANCE = "relevance"
    DATE = "date"
    LIKES = "likes"


@searching.get("/timeline")
async def _lead_to_search(request: Request) -> Response:
    """Lead links of older versions to the page."""
    return RedirectResponse(f"/search?{request.url.query}".rstrip("?"), 301)


@searching.get("/search", dependencies=[SEARCHES])
async def _show_search(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values, words = request.query_params, visitor.words
    corpora, chosen = await list_choices(shared, values.get("corpus", "").strip())
    query, own = values.get("q", "").strip()[:LONGEST_TEXT], bool(values.get("own"))
    order = Order(given) if (given := values.get("sort")) in set(Order) else Order.RELEVANCE
    answer, hits = None, list[FindHit]()
    if query:
        asked = query + _OWN_WORDS if own else query
        answer = await find(shared.app, asked, corpus=chosen, limit=MAXIMUM)
        hits = _sort_hits(answer.hits, order)
    match values.get("format"):
        case "csv":
            return _send_csv(hits)
        case "json":
            return _send_json(query, answer, hits)
    given_page = values.get("page", "")
    page = max(int(given_page), 1) if given_page.isdecimal() and len(given_page) < 4 else 1
    listed = hits[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
    return render_template(
        request,
        "search.html",
        query=query,
        asked=ProphecyForm(headline="", date=None, corpus=chosen),
        corpora=corpora,
        order=order,
        own=own,
        values={"q": query, "corpus": chosen, "sort": values.get("sort"), "own": own or None},
        corpus=answer.corpus if answer else chosen,
        entries=await _describe_hits(shared, answer, listed, words) if answer and listed else [],
        nothing=answer is not None and not hits and answer.plan is not Plan.NOTHING,
        page=page,
        more=len(hits) > page * ON_A_PAGE,
        summary=_summarise(answer, words) if answer else None,
        notice=" ".join(words.render(notice) for notice in answer.notices) if answer else None,
    )


def _sort_hits(hits: Sequence[FindHit], order: Order) -> list[FindHit]:
    if order is Order.DATE:
        return sorted(hits, key=_date_key)
    if order is Order.LIKES:
        return sorted(hits, key=lambda hit: (-hit.document.engagement, *_date_key(hit)))
    return list(hits)


def _date_key(hit: FindHit) -> tuple[object, ...]:
    return (*order_by_date(hit.created_at), hit.document.candidate.id)


async def _describe_hits(
    shared: SharedState, answer: QueryAnswer, hits: Sequence[FindHit], words: Words
) -> list[ArchiveEntry]:
    """Return hits of a query with marks. Raises StorageError."""
    corpus = await shared.app.corpus(answer.corpus)  # the query may name another than the form
    lexemes = {lexeme for hit in hits for match in hit.matched for lexeme in match.lexemes}
    documents = [hit.document for hit in hits]
    ids = [document.candidate.id for document in documents]
    marked = await DocumentLookup(shared.app.database).mark_words(corpus, ids, lexemes)
    return [
        describe_entry(
            document.candidate,
            document.engagement,
            marked.get(document.candidate.id, document.candidate.text),
            corpus,
            words,
        )
        for document in documents
    ]


def _summarise(answer: QueryAnswer, words: Words) -> str:
    """Return how many texts there are, and how many of them are listed."""
    texts, alike = answer.counts.passing, sum(hit.alike for hit in answer.hits)
    if texts > len(answer.hits) + alike:
        return words.say(
            "{texts} posts say that; the best {shown} are listed.",
            texts=words.number(texts),
            shown=words.number(len(answer.hits)),
        )
    if alike:
        return words.count(
            "{texts} posts say that; {number} that repeats another is left out.",
            "{texts} posts say that; {number} that repeat others are left out.",
            alike,
            texts=words.number(texts),
        )
    return words.count("{number} post says that.", "{number} posts say that.", texts)


def _describe_row(hit: FindHit) -> dict[str, str | int | None]:
    found = hit.document.candidate
    return {
        "id": found.external_id,
        "created_at": found.created_at.isoformat() if found.created_at else None,
        "author": found.author,
        "likes": hit.document.engagement,
        "url": web_address(found.url),
        "text": found.text,
    }


def _send_csv(hits: Sequence[FindHit]) -> Response:
    table = io.StringIO()
    writer = csv.DictWriter(table, _COLUMNS)
    writer.writeheader()
    writer.writerows(map(_describe_row, hits))
    headers = {"Content-Disposition": 'attachment; filename="presagio.csv"'}
    return Response(table.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _send_json(query: str, answer: QueryAnswer | None, hits: Sequence[FindHit]) -> Response:
    return JSONResponse(
        {
            "query": query,
            "corpus": answer.corpus if answer else None,
            "total": answer.counts.passing if answer else 0,
            "posts": [_describe_row(hit) for hit in hits],
        }
    )
