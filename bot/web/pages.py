"""The pages for people. Everything works without scripts."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from bot.i18n.words import Words
from bot.queries.ask import answer_unlogged, ask, build_searcher
from bot.replies.find import answer_label
from bot.replies.prophecy import brief_notice, holds_words, prophecy_reply, say_heading
from bot.web.browsing import browsing, find_this_day
from bot.web.examples import choose_examples, list_bundled_leads, list_latest, list_samples
from bot.web.reference import reference
from bot.web.rendering import (
    JUDGING,
    STATIC,
    CardView,
    build_card,
    draw_axis,
    has_picture,
    is_foretold,
    render_fragment,
    render_template,
    view_text,
)
from bot.web.schemas import LONGEST_TEXT
from bot.web.searching import searching
from bot.web.shared_state import SharedOf, SharedState, limit_answers, limit_requests
from bot.web.sharing import sharing
from bot.web.streaming import stream_work, wants_events
from bot.web.visitor import (
    ProphecyForm,
    VisitorOf,
    build_lasting_link,
    join_prophecy,
    list_candidates,
    list_choices,
    note_answered,
    read_prophecy_form,
)
from db.search.shown import MARK_BEGINS, DocumentLookup
from engine.answer.cited_answer import AnswerOutcome, CitedAnswer
from engine.answer.passages import extract_subject
from engine.corpora import ALL
from engine.prophecy.headline import read_headline
from engine.ranking import idf
from engine.search import Hit, Prophecy, SearchRequest, Term
from engine.values import Corpus, CorpusRole

_CACHED_FOREVER = "public, max-age=31536000, immutable"
_CACHED_FOR_A_DAY = "public, max-age=86400"
_FEW_TEXTS = 1000
_LEAST_SHARE_OF_IDF = 0.5  # of that of the rarest word in common, for a word to be marked
_LONGEST_SOURCE = 600  # characters that are shown
REFRESH_SECONDS = 3  # after which a page without scripts asks for what a model is judging

router = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@router.get("/")
async def _show_home(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    visible = await shared.app.corpora.list()
    if not visible:
        return render_template(
            request, "home.html", asked=None, corpora=(), lately=(), lead=None, this_day=None
        )
    name = request.query_params.get("corpus", "").strip()
    corpora, selected = await list_choices(shared, name, visitor.words.language)
    lately = await list_latest(shared, visible, visitor)
    leads = lately or await list_bundled_leads(shared, corpora, visitor, limit=1)
    corpus = await shared.app.corpus(selected)
    return render_template(
        request,
        "home.html",
        asked=ProphecyForm(corpus=selected),
        corpora=corpora,
        lately=lately,
        lead=leads[0] if leads else None,
        this_day=await find_this_day(shared, corpus, visitor.words),
        examples=() if lately else await choose_examples(shared, corpus, visitor.words),
    )


@router.get("/prophecy")
async def _show_prophecy(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    """Show the answer, or what words propose while a model judges.

    A page that shows proposals asks again, by its script for events or else by loading itself once
    more. All who ask for the same answer meanwhile wait for one, and are not counted again.
    """
    form = read_prophecy_form(request.query_params)
    if form not in shared.prophecies:
        await limit_answers(request, shared)
    language = visitor.words.language
    _, selected = await list_choices(shared, form.corpus, language, may_be_all=True)
    if not form.headline:
        return RedirectResponse(visitor.link("/"), HTTPStatus.SEE_OTHER)
    if form.date is None or form.corpus != selected or "://" in form.headline:
        link = await build_lasting_link(shared, visitor, form, selected)
        return RedirectResponse(link, HTTPStatus.SEE_OTHER)
    if wants_events(request):
        return _stream_findings(request, shared, form, visitor.words)
    async with join_prophecy(shared, form) as answering:
        judges = shared.app.client is not None and shared.settings.web.judge
        await asyncio.wait([answering], timeout=shared.patience if judges else None)
        candidates = None if answering.done() else await list_candidates(shared, form)
        if candidates is None or answering.done():
            prophecy, judging = await answering, False
        else:
            prophecy, judging = candidates, True
        await note_answered(shared, form)
        if judging:
            shared.prophecies.expect_return(form)
    return render_template(
        request,
        "prophecy.html",
        date_text=visitor.words.date(form.date),
        refresh=REFRESH_SECONDS,
        **await _describe_findings(shared, form, prophecy, visitor.words, judging=judging),
    )


def _stream_findings(
    request: Request, shared: SharedState, form: ProphecyForm, words: Words
) -> Response:
    """Return the answer as an event, after one that says what is waited for."""
    steps: asyncio.Queue[object] = asyncio.Queue()
    steps.put_nowait({"says": words.say(JUDGING)})

    async def render_findings(prophecy: Prophecy) -> object:
        findings = await _describe_findings(shared, form, prophecy, words)
        return {
            "html": render_fragment(request, "findings.html", **findings),
            "says": _say_outcome(prophecy, words),
        }

    answering = join_prophecy(shared, form, returns=True)
    return stream_work(answering, steps, render_findings, words=words)


def _say_outcome(prophecy: Prophecy, words: Words) -> str:
    if not prophecy.judged:
        return words.say("Not judged.")
    if not is_foretold(prophecy):
        return words.say("Nothing found for sure.")
    return words.count("{number} old post fits.", "{number} old posts fit.", len(prophecy.hits))


async def _describe_findings(
    shared: SharedState,
    form: ProphecyForm,
    prophecy: Prophecy,
    words: Words,
    *,
    judging: bool = False,
) -> dict[str, Any]:
    """Return what the template shows of an answer, or of candidates that a model is judging."""
    until, limit = form.date or shared.now(), shared.settings.search.limit
    hits, near, marked = await _choose_texts(shared, prophecy, judging=judging)
    following = max(len(hits or near) - limit, 0)
    if not form.more:
        hits, near = hits[:limit], near[:limit]
    corpora, _ = await list_choices(shared, form.corpus, may_be_all=True)
    draw = partial(
        build_card,
        corpus=prophecy.corpus,
        until=until,
        words=words,
        marked=marked,
        judged=prophecy.judged,
    )
    is_of_several = form.corpus == ALL
    return {
        "asked": form,
        "corpora": corpora,
        "voice": None if is_of_several else (await shared.app.corpus(form.corpus)).voice,
        "judging": judging,
        "pictures": has_picture(prophecy) and (judging or prophecy.judged),
        "heading": say_heading(hits, words) and words.say("What was said before"),
        "judged": prophecy.judged,
        "axis": draw_axis((hits or near)[:limit], until, words),
        "limit": limit,
        "is_of_several": is_of_several,
        "cards": _unlink_invented(map(draw, hits), corpora),
        "near": _unlink_invented((draw(hit, near=True) for hit in near), corpora),
        "has_near": bool(prophecy.near),
        "shares_words": any(term.document_frequency for term in prophecy.terms),
        "more": ""
        if form.more or not following
        else words.count("{number} more post", "{number} more posts", following),
        "lacks_words": not holds_words(prophecy),
        "nothing_found": prophecy_reply(
            prophecy, prophecy.hits, now=shared.now(), words=words
        ).text,
        "notice": None if judging or not holds_words(prophecy) else brief_notice(prophecy, words),
    }


async def _choose_texts(
    shared: SharedState, prophecy: Prophecy, *, judging: bool
) -> tuple[Sequence[Hit], Sequence[Hit], Mapping[int, str]]:
    """Return the hits to show, else what is near, and their texts with marks, by id."""
    hits: Sequence[Hit] = prophecy.hits
    if judging:
        hits = (*prophecy.hits, *prophecy.near)[: shared.settings.search.limit]
    near = () if hits else prophecy.near
    marked = await _mark_words(shared, prophecy, (*hits, *near))
    # A near text that shares no word with the headline would only puzzle.
    near = tuple(hit for hit in near if MARK_BEGINS in marked.get(hit.candidate.id, ""))
    return hits, near, marked


def _unlink_invented(cards: Iterable[CardView], corpora: Iterable[Corpus]) -> list[CardView]:
    """Return cards, of which those of a demonstration lead to no post, as there is none."""
    invented = {corpus.name for corpus in corpora if corpus.role is CorpusRole.DEMONSTRATION}
    return [replace(card, url=None) if card.corpus in invented else card for card in cards]


async def _mark_words(
    shared: SharedState, prophecy: Prophecy, hits: Sequence[Hit]
) -> Mapping[int, str]:
    """Return the texts of hits with marks around the words of the headline, by id.

    Words that are only spelt like one of the headline are marked if there are hits, as then a
    notice names them.
    """
    terms = [
        term for term in prophecy.terms if prophecy.hits or term.alias or term.neighbour_of is None
    ]
    ids = defaultdict[str, list[int]](list)
    for hit in hits:
        ids[hit.candidate.corpus or prophecy.corpus].append(hit.candidate.id)
    corpora = {corpus.name: corpus for corpus in await shared.app.choose_corpora(prophecy.corpus)}
    texts = sum(corpus.searchable_documents for corpus in corpora.values())
    lexemes = {lexeme for term in _leave_out_common(terms, hits, texts) for lexeme in term.lexemes}
    lookup, marked = DocumentLookup(shared.app.database), dict[int, str]()
    for name, listed in ids.items():
        marked |= await lookup.mark_words(corpora[name], listed, lexemes)
    return marked


def _leave_out_common(terms: Sequence[Term], hits: Sequence[Hit], texts: int) -> Sequence[Term]:
    """Return the terms without those that are common beside the rarest one that a hit has.

    Where there are few texts, all are returned: counts do not yet tell what is common.
    """
    if texts < _FEW_TEXTS:
        return terms
    matched = {word for hit in hits for word in hit.matched}
    weights = {term: idf(texts, term.document_frequency) for term in terms}
    rarest = max(
        (weights[term] for term in terms if matched & {term.word, term.shown}), default=0.0
    )
    return [term for term in terms if weights[term] >= _LEAST_SHARE_OF_IDF * rarest]


@router.get("/ask")
async def _show_answer(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values = request.query_params
    question = values.get("question", "").strip()[:LONGEST_TEXT]
    corpora, selected = await list_choices(
        shared, values.get("corpus", "").strip(), visitor.words.language, may_be_all=True
    )
    answer: CitedAnswer | None = None
    if question:
        await limit_answers(request, shared)
        answer = await _answer_question(shared, question, selected)
    sampled = corpora[0].name if selected == ALL else selected
    return render_template(
        request,
        "ask.html",
        question=question,
        asked=ProphecyForm(corpus=selected),
        corpora=corpora,
        samples=()
        if answer and answer.sources
        else await list_samples(shared, await shared.app.corpus(sampled), visitor.words),
        **_describe_answer(answer, visitor.words),
    )


async def _answer_question(shared: SharedState, question: str, selected: str) -> CitedAnswer:
    """Answer a question. If the model says that the texts do not, show the nearest of them.

    Raises StorageError.
    """
    request = SearchRequest(
        headline=read_headline(question), limit=shared.settings.answer.limit, now=shared.now()
    )
    corpora, prophet = await shared.app.choose_corpora(selected), build_searcher(shared.app)
    answer = await ask(shared.app, request, corpora, prophet=prophet)
    if answer.outcome is not AnswerOutcome.SILENT:
        return answer
    nearest = await answer_unlogged(shared.app, request, corpora, prophet=prophet, model=False)
    return replace(answer, sentences=nearest.sentences, sources=nearest.sources)


def _describe_answer(answer: CitedAnswer | None, words: Words) -> dict[str, Any]:
    """Return what the template shows of an answer, or that there is none yet."""
    if answer is None:
        return {"answered": None}
    # Then its sentences are quotations of its sources.
    extracted = answer.outcome in (AnswerOutcome.EXTRACTED, AnswerOutcome.SILENT)
    quotes = {each.sources[0]: each.text for each in answer.sentences if extracted}
    return {
        "answered": answer,
        "extracted": extracted,
        "silent": answer.outcome in (AnswerOutcome.SILENT, AnswerOutcome.NOTHING),
        "subject": extract_subject(answer.question.text),
        "label": answer_label(answer, words),
        "notice": words.render(answer.notice) if answer.notice else None,
        "sentences": () if extracted else answer.sentences,
        "sources": [
            (
                source.number,
                view_text(
                    source.passage.hit.candidate,
                    source.passage.corpus,
                    words,
                    longest=_LONGEST_SOURCE,
                    quote=quotes.get(source.number, ""),
                ),
            )
            for source in answer.sources
        ],
    }


@router.get("/robots.txt")
async def _show_robots() -> Response:
    """Keep crawlers off what costs work, but let them read answers and pictures.

    A platform reads both to show a card of a link that somebody shares. The pages of answers tell
    search engines by a tag not to list them, and ask no model unless everybody may.
    """
    lines = ("User-agent: *", "Disallow: /api/", "Disallow: /search", "Disallow: /compose",
             "Disallow: /ask", "")  # fmt: skip
    return PlainTextResponse("\n".join(lines))


def add_routes(app: FastAPI, *routers: APIRouter) -> None:
    """Add routes as they are: `include_router` makes each anew, at the first request.

    Their names become the ids of their operations, after which generated clients name methods.
    """
    for route in (route for each in routers for route in each.routes):
        if isinstance(route, APIRoute):
            route.unique_id = route.name.strip("_")
        app.router.routes.append(route)


class StaticContent(StaticFiles):
    """Static files, which browsers keep: for good if the address holds a version, as that of a font
    does by its name."""

    def file_response(
        self,
        full_path: Any,
        stat_result: Any,
        scope: Any,
        status_code: int = 200,
    ) -> Response:
        """Return a file, or that it is unchanged."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        lasting = scope.get("query_string") or str(full_path).endswith(".woff2")
        response.headers["Cache-Control"] = _CACHED_FOREVER if lasting else _CACHED_FOR_A_DAY
        return response


def add_pages(app: FastAPI) -> None:
    """Add the pages and their static files."""
    add_routes(app, router, browsing, searching, sharing, reference)
    app.mount("/static", StaticContent(directory=STATIC), name="static")
