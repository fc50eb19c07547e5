"""A query of the dialect as people ask it: text in, the right corpus, an answer with receipts."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from bot.app import App
from bot.query_log import log_of, logged
from db.search.find import DialectIndex
from db.search.shown import Comments
from engine.errors import CorpusNotFound
from engine.glossary.groups import widened
from engine.messages import Message
from engine.query.find import DEFAULT_LIMIT, Finder
from engine.query.plan import Plan
from engine.query.present import presented
from engine.query.query import Query
from engine.query.read import parse_query
from engine.query.types import Counts, Found
from engine.search_log import SearchJob, find_logged
from engine.types import Corpus


async def find(
    app: App, text: str, *, corpus: str = "", limit: int = DEFAULT_LIMIT, voice: bool = False
) -> Found:
    """Answer a query; `in:` in it goes before `corpus`, "" is the configured or only one.

    Whatever the query says is answered, a corpus that it names and that is not there too. `voice`
    asks for voice terms. Raises CorpusNotFound for any other corpus, and storage errors.
    """
    return await logged(
        SearchJob.FIND,
        text,
        _find(app, parse_query(text), corpus, limit, voice=voice),
        find_logged,
        log=log_of(app.database, app.settings),
        settings=app.settings,
        corpus=corpus,
    )


async def _find(app: App, query: Query, corpus: str, limit: int, *, voice: bool) -> Found:
    names = _corpora(query, negated=False)
    unwanted = frozenset(_corpora(query, negated=True))
    try:
        chosen = await app.corpus(names[0] if names else corpus, without=unwanted)
    except CorpusNotFound as error:
        if not names and not unwanted:
            raise
        return _nowhere(query, names[0] if names else corpus, error.said)
    found = await answer_query(app, chosen, query, limit=limit, voice=voice)
    if len(names) > 1:
        said = Message("One corpus is searched at a time; this is {name}.", name=chosen.name)
        found = replace(found, notices=(*found.notices, said))
    return found


async def answer_query(
    app: App, corpus: Corpus, query: Query, *, limit: int, voice: bool = False, comments: int = 0
) -> Found:
    """Answer a query from a corpus, with excerpts and the strongest `comments` of each post.

    Raises storage errors.
    """
    index = DialectIndex(app.database, app.settings.search.bm25)
    aliases, weight = await app.glossaries.of(corpus), app.settings.glossary.weight
    expanded = await widened(index, corpus, query, aliases, weight=weight)
    finder = Finder(index, app.settings.find)
    now = datetime.now(UTC)
    found = await finder.find(corpus, query, limit=limit, expanded=expanded, now=now)
    found = await presented(index, corpus, found, voice=voice)
    return await Comments(app.database).added(corpus, found, comments) if comments else found


async def months(app: App, corpus: Corpus, found: Found) -> Mapping[str, int]:
    """Return how many texts of a corpus meet the query of `found` in each month that has any.

    Raises storage errors.
    """
    index = DialectIndex(app.database, app.settings.search.bm25)
    return await Finder(index, app.settings.find).months(corpus, found.expanded)


def _corpora(query: Query, *, negated: bool) -> list[str]:
    return [f.value for f in query.filters if f.name == "in" and f.negated == negated]


def _nowhere(query: Query, corpus: str, why: Message) -> Found:
    return Found(
        query=query,
        expanded=query,
        corpus=corpus,
        plan=Plan.NOTHING,
        counts=Counts(corpus=0),
        notices=(*query.notices, why),
    )
