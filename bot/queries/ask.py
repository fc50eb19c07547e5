"""Answers questions: chooses corpora, gathers the best passages and cites them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.app import App
from db.logs import LoggedSearch, SearchJob
from engine.answer.cited_answer import CitedAnswer, Question
from engine.answer.passages import gather_passages, read_period
from engine.corpora import list_corpora_of_kind, list_default_corpora
from engine.errors import SeveralCorpora, UsageError
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.search import Filters, SearchRequest
from engine.values import Corpus, Kind

MAX_PASSAGES = 20


async def ask(
    app: App,
    request: SearchRequest,
    corpora: Sequence[Corpus],
    *,
    earlier: Sequence[str] = (),
    prophet: Prophet | None = None,
    model: bool = True,
) -> CitedAnswer:
    """Answer the question of `request` from the best texts (1..20) of `corpora`.

    `earlier` holds the last questions of the thread, oldest first. `prophet` replaces the default
    searcher. With `model` false, or if there is no model, the answer consists of sentences from
    the sources. A model failure becomes a notice, not an error. The question is logged; one from a
    chat only as a hash. Raises UsageError, storage errors.
    """
    return await app.log_search(
        SearchJob.ASK,
        request.headline.original,
        answer_unlogged(app, request, corpora, earlier, prophet, model=model),
        _add_answer,
        corpus=", ".join(corpus.name for corpus in corpora),
    )


async def answer_unlogged(
    app: App,
    request: SearchRequest,
    corpora: Sequence[Corpus],
    earlier: Sequence[str] = (),
    prophet: Prophet | None = None,
    *,
    model: bool,
) -> CitedAnswer:
    """Answer a question as `ask` does. It is not logged."""
    question = request.headline.original
    if not question.strip():
        raise UsageError(
            Message("There is no question."), fix=Message("Write what you want to know.")
        )
    composed = Question(text=question, earlier=tuple(earlier))
    request = replace(request, limit=max(1, min(request.limit, MAX_PASSAGES)))
    searcher, period = prophet or build_searcher(app), None
    if request.filters == Filters():
        period = read_period(question)
    limited = replace(request, filters=period) if period else request
    gathered = await gather_passages(searcher, corpora, composed, limited)
    if period and not gathered.passages:  # the year was what the question is about
        gathered = await gather_passages(searcher, corpora, composed, request)
    return await app.answerer().answer(composed, gathered, now=request.now, model=model)


async def ask_one(
    app: App, question: str, *, corpus: str, earlier: Sequence[str], now: datetime
) -> CitedAnswer:
    """Answer a question from a chat with one corpus; "" is the default one, "all" every one.

    Raises CorpusNotFound, UsageError, storage errors.
    """
    request = SearchRequest(
        headline=read_headline(question), limit=app.settings.answer.limit, now=now
    )
    return await ask(app, request, await app.choose_corpora(corpus), earlier=earlier)


def build_searcher(app: App) -> Prophet:
    """Return a Prophet for passages, which ignores age and includes recent texts."""
    settings = app.settings.prophecy
    settings = replace(
        settings,
        search=settings.search.model_copy(update={"exclude_recent_months": 0}),
        score=settings.score.model_copy(update={"age": 0.0}),
    )
    return Prophet(app.prophet.index, settings=settings, meaning=app.prophet.meaning)


async def corpora_for(app: App, names: Sequence[str], kind: Kind | None = None) -> list[Corpus]:
    """Return the named corpora without duplicates; else all of the kind; else the configured one,
    or all that fit equally well.

    Raises CorpusNotFound, SeveralCorpora for the name "", and UsageError when a corpus is not of
    the kind.
    """
    if kind and not names:
        return list_corpora_of_kind(await app.corpora.list(), kind)
    kinds = (kind,) if kind else ()
    try:
        return [await app.corpus(name, kinds=kinds) for name in dict.fromkeys(names or [""])]
    except SeveralCorpora:
        if names:
            raise
        return list_default_corpora(await app.corpora.list())


def _add_answer(search: LoggedSearch, answer: CitedAnswer) -> LoggedSearch:
    """Return the entry for a question that was answered."""
    return replace(
        search,
        text=answer.question.text,
        corpus=", ".join(answer.corpora) or search.corpus,
        plan=answer.outcome.value,
        counts={"passages": answer.passages, "returned": len(answer.sources)},
        returned=tuple(source.passage.hit.candidate.external_id for source in answer.sources),
        usage=None if answer.cached else answer.usage,
    )
