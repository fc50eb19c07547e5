"""The search page: the posts of an archive that match a query, in pages, as CSV and as JSON."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from bot.i18n.words import Words
from bot.queries.find import answer_query, find
from bot.web.listing import (
    ROWS_PER_PAGE,
    ArchiveEntry,
    LineOfYears,
    describe_entry,
    draw_line,
    list_years,
    span_years,
)
from bot.web.rendering import render_template, web_address
from bot.web.schemas import LONGEST_TEXT
from bot.web.shared_state import SEARCHES, SharedOf, SharedState, limit_requests
from bot.web.visitor import ProphecyForm, VisitorOf, list_choices, read_whole_number
from db.search.shown import DocumentLookup
from engine.query.query import Plan, Query
from engine.query.results import FindHit, QueryAnswer
from engine.search import order_by_date

MAXIMUM = 300  # posts that match a query
_MAX_PAGE_DIGITS = 3  # far more than MAXIMUM fills
_OWN_WORDS = " -is:repost -is:quote"
_FEWEST_DRAWN = 3  # posts that a line of years is drawn of
_MOST_PARTS = 5  # words of a query that are looked up alone

searching = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


class Order(StrEnum):
    """How the posts are sorted."""

    RELEVANCE = "relevance"
    DATE = "date"
    LIKES = "likes"


@searching.get("/timeline")
async def _redirect_timeline(request: Request) -> Response:
    """Redirect links of older versions to the page."""
    return RedirectResponse(f"/search?{request.url.query}".rstrip("?"), 301)


@searching.get("/search", dependencies=[SEARCHES])
async def _show_search(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values, words = request.query_params, visitor.words
    corpora, selected = await list_choices(shared, values.get("corpus", "").strip(), words.language)
    query, own = values.get("q", "").strip()[:LONGEST_TEXT], bool(values.get("own"))
    order = Order(values["sort"]) if values.get("sort") in set(Order) else Order.RELEVANCE
    filtered = query + _OWN_WORDS if own else query
    answer = await find(shared.app, filtered, corpus=selected, limit=MAXIMUM) if query else None
    hits = _sort_hits(answer.hits, order) if answer else []
    match values.get("format"):
        case "csv":
            return _send_csv(hits)
        case "json":
            return _send_json(query, answer, hits)
    nothing = answer is not None and not hits and answer.plan is not Plan.NOTHING
    page = max(read_whole_number(request, "page", digits=_MAX_PAGE_DIGITS), 1)
    texts: dict[str, Any] = {"entries": [], "years": []}
    if answer and hits[(page - 1) * ROWS_PER_PAGE :]:
        texts = await _describe_page(shared, answer, hits, page, words)
    elif answer and nothing:
        texts["wanted"] = await _count_parts(shared, answer, words)
    else:
        archive = await shared.app.corpora.get(selected)
        texts["years"] = await list_years(shared, archive, words)
    return render_template(
        request,
        "search.html",
        query=query,
        asked=ProphecyForm(corpus=selected),
        corpora=corpora,
        order=order,
        own=own,
        values={"q": query, "corpus": selected, "sort": values.get("sort"), "own": own or None},
        corpus=answer.corpus if answer else selected,
        nothing=nothing,
        page=page,
        month_names=words.months,
        notice=_say_notices(answer, words, nothing=nothing) if answer else None,
        **texts,
    )


async def _describe_page(
    shared: SharedState, answer: QueryAnswer, hits: Sequence[FindHit], page: int, words: Words
) -> dict[str, Any]:
    """Return what the template shows of a page of hits. Raises StorageError."""
    begins, ends = (page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE
    listed = hits[begins:ends]
    return {
        "entries": await _describe_hits(shared, answer, listed, words),
        "said": words.say(
            "{first}–{last} of {all}",
            first=words.number(begins + 1),
            last=words.number(begins + len(listed)),
            all=words.number(len(hits)),
        ),
        "more": len(hits) > ends,
        "line": await _draw_line(shared, answer),
        "summary": _summarise(answer, words),
    }


async def _draw_line(shared: SharedState, answer: QueryAnswer) -> LineOfYears | None:
    """Return where in the years of their archive hits are, if that tells more than their dates.
    Raises StorageError."""
    months = Counter(f"{hit.created_at:%Y-%m}" for hit in answer.hits if hit.created_at)
    span = span_years(await shared.count_months(await shared.app.corpus(answer.corpus)))
    if months.total() < _FEWEST_DRAWN or len(span) < 2:
        return None
    return draw_line(months, span, finest=12)


async def _count_parts(
    shared: SharedState, answer: QueryAnswer, words: Words
) -> Sequence[tuple[str, str, Sequence[ArchiveEntry]]]:
    """Return the words of a query without hits, each with how many posts have it alone, and the
    best of these. Raises StorageError."""
    query = answer.query
    if len(query.groups) + len(query.filters) + len(query.excluded) < 2:
        return ()
    corpus = await shared.app.corpus(answer.corpus)
    counted = list[tuple[str, str, Sequence[ArchiveEntry]]]()
    for group in query.groups[:_MOST_PARTS]:
        alone = await answer_query(shared.app, corpus, Query(groups=(group,)), limit=1)
        posts = words.count("{number} post", "{number} posts", alone.counts.passing)
        best = await _describe_hits(shared, alone, alone.hits[:1], words) if alone.hits else ()
        counted.append((str(group), posts if alone.hits else "", best))
    return counted


def _say_notices(answer: QueryAnswer, words: Words, *, nothing: bool) -> str:
    """Return the notices of an answer. A page with nothing tells itself which words no post has."""
    told = (n for n in answer.notices if not (nothing and n.startswith("No text says")))
    return " ".join(words.render(notice) for notice in told)


def _sort_hits(hits: Sequence[FindHit], order: Order) -> list[FindHit]:
    if order is Order.RELEVANCE:
        return list(hits)
    by_date = sorted(
        hits, key=lambda hit: (*order_by_date(hit.created_at), hit.document.candidate.id)
    )
    if order is Order.DATE:
        return by_date
    return sorted(by_date, key=lambda hit: -hit.document.engagement)


async def _describe_hits(
    shared: SharedState, answer: QueryAnswer, hits: Sequence[FindHit], words: Words
) -> list[ArchiveEntry]:
    """Return hits as entries of the page, their matches marked. Raises StorageError."""
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
    """Return the sentence that says how many posts match, and how many of them are listed."""
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
    post = hit.document.candidate
    return {
        "id": post.external_id,
        "created_at": post.created_at.isoformat() if post.created_at else None,
        "author": post.author,
        "likes": hit.document.engagement,
        "url": web_address(post.url),
        "text": post.text,
    }


def _send_csv(hits: Sequence[FindHit]) -> Response:
    table = io.StringIO()
    columns = ("id", "created_at", "author", "likes", "url", "text")
    writer = csv.DictWriter(table, columns)
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
            "posts": list(map(_describe_row, hits)),
        }
    )
