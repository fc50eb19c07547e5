"""Typed searches in corpora of each kind."""

from dataclasses import replace
from functools import partial
from typing import TypeVar

from bot.app import App
from bot.queries.find import answer_query
from bot.query_log import log_of, logged
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
from engine.errors import SeveralCorpora
from engine.messages import Message
from engine.query.query import Filter, Query
from engine.query.types import Found, touched_platforms
from engine.search_log import SearchJob, find_logged
from engine.types import Corpus

_S = TypeVar("_S", bound=Snippet)


async def personal_search(app: App, search: PersonalSearch) -> PersonalResult:
    """Search messages and notes. Raises CorpusNotFound, UsageError, storage errors."""
    return await _searched(app, search, PersonalSnippet, limit=search.limit)


async def social_search(app: App, search: SocialSearch) -> SocialResult:
    """Search posts. Raises CorpusNotFound, UsageError, storage errors."""
    return await _searched(app, search, SocialSnippet, limit=search.limit, comments=search.comments)


async def published_search(app: App, search: PublishedSearch) -> PublishedResult:
    """Search articles. Raises CorpusNotFound, UsageError, storage errors."""
    return await _searched(app, search, PublishedSnippet, limit=search.limit)


async def _searched(
    app: App, search: SearchContract, snippet: type[_S], *, limit: int, comments: int = 0
) -> SearchResult[_S]:
    query = search.parsed()
    found = await logged(
        SearchJob.FIND,
        search.query,
        _found(app, search, query, limit=limit, comments=comments),
        find_logged,
        log=log_of(app.database, app.settings),
        settings=app.settings,
        corpus=search.corpus,
    )
    return result_of(search, found, snippet)


async def _found(
    app: App, search: SearchContract, query: Query, *, limit: int, comments: int
) -> Found:
    corpus = await _corpus(app, search, query)
    answered = partial(answer_query, app, corpus, limit=limit, voice=True, comments=comments)
    found = await answered(query=query)
    if not isinstance(search, SocialSearch) or search.mixes:
        return found
    platforms = touched_platforms(found)
    if len(platforms) < 2:
        return found
    first, *others = platforms
    only = replace(query, filters=(*query.filters, Filter("platform", first)))
    said = Message(
        "Only posts of {platform}; there are some of {others}, too: name one as platform, or all.",
        platform=first,
        others=", ".join(others),
    )
    narrowed = await answered(query=only)
    return replace(narrowed, notices=(*narrowed.notices, said))


async def _corpus(app: App, search: SearchContract, query: Query) -> Corpus:
    """Return the named corpus, else the default one among the kinds that the search covers.

    Raises CorpusNotFound, UsageError.
    """
    meant = [one for one in query.filters if one.name == "in"]
    unwanted = {one.value for one in meant if one.negated}
    named = search.corpus or next((one.value for one in meant if not one.negated), "")
    try:
        return await app.corpus(named, kinds=search.kinds, without=unwanted)
    except SeveralCorpora as error:
        raise SeveralCorpora(error.message, fix=Message("Name one as corpus.")) from None
