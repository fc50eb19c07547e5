"""Answers queries of the dialect: text in, hits with receipts out."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias, TypeVar

from bot.app import App
from db.logs import LoggedSearch, SearchJob
from db.search.find import DialectIndex
from db.search.shown import Comments
from engine.contracts.requests import PersonalSearch, PublishedSearch, SearchContract, SocialSearch
from engine.contracts.results import (
    PersonalResult,
    PersonalSnippet,
    PublishedResult,
    PublishedSnippet,
    SearchResult,
    Snippet,
    SocialResult,
    SocialSnippet,
    result_of,
)
from engine.corpora import ALL, limit_corpora
from engine.errors import CorpusNotFound, SeveralCorpora
from engine.glossary.aliases import widen_query
from engine.messages import Message
from engine.prophecy.meaning import (
    describe_partial_vectors,
    fetch_similarities,
    require_vector_query,
)
from engine.query.find import DEFAULT_LIMIT, Finder, FindMode, meant_by
from engine.query.parser import parse_query
from engine.query.query import Filter, Plan, Query
from engine.query.results import (
    Counts,
    QueryAnswer,
    found_together,
    present_hits,
    touched_platforms,
)
from engine.values import Corpus

_S = TypeVar("_S", bound=Snippet)
_Search: TypeAlias = PersonalSearch | SocialSearch | PublishedSearch


async def find(
    app: App,
    text: str,
    *,
    corpus: str = "",
    limit: int = DEFAULT_LIMIT,
    voice: bool = False,
    mode: FindMode = FindMode.LEXICAL,
) -> QueryAnswer:
    """Answer a query. `in:` in it overrides `corpus`; "" is the configured or only one, "all"
    means every archive.

    No query is an error, not even one that names an unknown corpus with `in:`. `voice` adds voice
    terms. Raises CorpusNotFound if `corpus` is unknown, and storage errors; in modes that compare
    vectors, UsageError if there are none, and the model's errors.
    """
    return await app.log_search(
        SearchJob.FIND,
        text,
        _find_texts(app, parse_query(text), corpus, limit, voice=voice, mode=mode),
        _add_finds,
        corpus=corpus,
    )


def _add_finds(search: LoggedSearch, answer: QueryAnswer) -> LoggedSearch:
    """Return the entry for a query that was answered, with the query in canonical form."""
    query = answer.query
    named = search.quotable
    return replace(
        search,
        text=str(query) or search.text,
        corpus=answer.corpus,
        expanded=str(answer.expanded) if named and answer.expanded != query else None,
        filters=tuple(
            str(condition) if named else f"{condition.name}:" for condition in query.filters
        ),
        plan=answer.plan.value,
        counts=asdict(answer.counts),
        returned=tuple(hit.document.candidate.external_id for hit in answer.hits),
        platforms=touched_platforms(answer),
    )


async def _find_texts(
    app: App, query: Query, corpus: str, limit: int, *, voice: bool, mode: FindMode
) -> QueryAnswer:
    names = _list_named_corpora(query, negated=False)
    unwanted = frozenset(_list_named_corpora(query, negated=True))
    if corpus == ALL and not names and not unwanted:
        corpora, left_out = limit_corpora(await app.choose_corpora(ALL))
        every = [
            (corpus, await answer_query(app, corpus, query, limit=limit, voice=voice, mode=mode))
            for corpus in corpora
        ]
        answer = every[0][1] if len(every) == 1 else found_together(every, limit)
        return replace(answer, notices=(*([left_out] if left_out else ()), *answer.notices))
    try:
        selected = await app.corpus(names[0] if names else corpus, without=unwanted)
    except CorpusNotFound as error:
        if not names and not unwanted:
            raise
        return _build_empty_answer(query, names[0] if names else corpus, error.full_message)
    answer = await answer_query(app, selected, query, limit=limit, voice=voice, mode=mode)
    if len(names) > 1:
        notice = Message("One corpus is searched at a time; this is {name}.", name=selected.name)
        answer = replace(answer, notices=(*answer.notices, notice))
    return answer


async def answer_query(
    app: App,
    corpus: Corpus,
    query: Query,
    *,
    limit: int,
    voice: bool = False,
    comments: int = 0,
    mode: FindMode = FindMode.LEXICAL,
) -> QueryAnswer:
    """Answer a query from a corpus, with excerpts and the top `comments` comments of each post.

    Raises the same errors as `find`.
    """
    settings = app.settings.find
    index = DialectIndex(app.database)
    finder = Finder(index, settings)
    if mode is FindMode.SEMANTIC:
        answer = await _find_nearest(app, finder, corpus, query, limit)
    else:
        aliases, weight = await app.glossaries.of(corpus), app.settings.glossary.weight
        expanded = await widen_query(index, corpus, query, aliases, weight=weight)
        now = datetime.now(UTC)
        if mode is FindMode.RERANK and meant_by(query):
            answer = await finder.order_by_meaning(
                corpus,
                query,
                partial(fetch_similarities, app.prophet.meaning, corpus, meant_by(query)),
                limit=limit,
                expanded=expanded,
                now=now,
            )
        else:
            answer = await finder.find(corpus, query, limit=limit, expanded=expanded, now=now)
    answer = await present_hits(index, corpus, answer, voice=voice)
    return (
        await Comments(app.database).add_comments(corpus, answer, comments) if comments else answer
    )


async def _find_nearest(
    app: App, finder: Finder, corpus: Corpus, query: Query, limit: int
) -> QueryAnswer:
    text = meant_by(query)
    if not text:
        return _find_nothing(
            query, corpus, Message("There is no word whose meaning could be looked for.")
        )
    vector_query = await require_vector_query(app.prophet.meaning, corpus, text)
    if vector_query is None:
        return _find_nothing(query, corpus, Message("The model knows no word of this."))
    answer = await finder.nearest(
        corpus,
        query,
        space=vector_query.space,
        vector=vector_query.vector,
        similarity=vector_query.rate_similarity,
        limit=limit,
    )
    notice = describe_partial_vectors(vector_query)
    return replace(answer, notices=(*answer.notices, notice)) if notice else answer


def _list_named_corpora(query: Query, *, negated: bool) -> list[str]:
    return [f.value for f in query.filters if f.name == "in" and f.negated == negated]


def _find_nothing(query: Query, corpus: Corpus, why: Message) -> QueryAnswer:
    return replace(
        _build_empty_answer(query, corpus.name, why),
        kind=corpus.kind,
        counts=Counts(corpus=corpus.documents),
        plan=Plan.NEAREST,
    )


def _build_empty_answer(query: Query, corpus: str, why: Message) -> QueryAnswer:
    return QueryAnswer(
        query=query,
        expanded=query,
        corpus=corpus,
        plan=Plan.NOTHING,
        counts=Counts(corpus=0),
        notices=(*query.notices, why),
    )


async def personal_search(app: App, search: PersonalSearch) -> PersonalResult:
    """Search messages and notes. Raises CorpusNotFound, UsageError, storage errors."""
    return await _run_search(app, search, PersonalSnippet)


async def social_search(app: App, search: SocialSearch) -> SocialResult:
    """Search posts. Raises CorpusNotFound, UsageError, storage errors."""
    return await _run_search(app, search, SocialSnippet)


async def published_search(app: App, search: PublishedSearch) -> PublishedResult:
    """Search articles. Raises CorpusNotFound, UsageError, storage errors."""
    return await _run_search(app, search, PublishedSnippet)


async def _run_search(app: App, search: _Search, snippet: type[_S]) -> SearchResult[_S]:
    answer = await app.log_search(
        SearchJob.FIND,
        search.query,
        _find_in_corpus(app, search, search.to_query()),
        _add_finds,
        corpus=search.corpus,
    )
    return result_of(search, answer, snippet)


async def _find_in_corpus(app: App, search: _Search, query: Query) -> QueryAnswer:
    comments = search.comments if isinstance(search, SocialSearch) else 0
    corpus = await _choose_corpus(app, search, query)
    answered = partial(answer_query, app, corpus, limit=search.limit, voice=True, comments=comments)
    answer = await answered(query=query)
    if not isinstance(search, SocialSearch) or search.mixes:
        return answer
    platforms = touched_platforms(answer)
    if len(platforms) < 2:
        return answer
    first, *others = platforms
    only = replace(query, filters=(*query.filters, Filter("platform", first)))
    notice = Message(
        "Only posts of {platform}; there are some of {others}, too: name one as platform, or all.",
        platform=first,
        others=", ".join(others),
    )
    narrowed = await answered(query=only)
    return replace(narrowed, notices=(*narrowed.notices, notice))


async def _choose_corpus(app: App, search: SearchContract, query: Query) -> Corpus:
    """Return the named corpus, else the default one among the kinds that the search covers.

    Raises CorpusNotFound, UsageError.
    """
    meant = [selected for selected in query.filters if selected.name == "in"]
    unwanted = {selected.value for selected in meant if selected.negated}
    named = search.corpus or next(
        (selected.value for selected in meant if not selected.negated), ""
    )
    try:
        return await app.corpus(named, kinds=search.kinds, without=unwanted)
    except SeveralCorpora as error:
        raise SeveralCorpora(error.message, fix=Message("Name one as corpus.")) from None
