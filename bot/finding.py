"""A query of the dialect as people ask it: text in, the right corpus, an answer with receipts."""

from dataclasses import replace

from bot.app import App
from db.find import DialectIndex
from engine.bm25 import Bm25
from engine.errors import CorpusNotFound
from engine.find import DEFAULT_LIMIT, Finder, FindSettings
from engine.find_plan import Plan
from engine.find_types import Counts, Found
from engine.glossary import widened
from engine.query import Query
from engine.query_reader import parse_query


async def find(app: App, text: str, *, corpus: str = "", limit: int = DEFAULT_LIMIT) -> Found:
    """Answer a query; `in:` in it goes before `corpus`, "" is the configured or only one.

    Whatever the query says is answered, a corpus that it names and that is not there too. Raises
    CorpusNotFound for any other corpus, and storage errors.
    """
    query = parse_query(text)
    names = _corpora(query, negated=False)
    unwanted = frozenset(_corpora(query, negated=True))
    try:
        chosen = await app.corpus(names[0] if names else corpus, without=unwanted)
    except CorpusNotFound as error:
        if not names and not unwanted:
            raise
        return _nowhere(query, names[0] if names else corpus, str(error))
    search = app.settings.search
    bm25 = Bm25(search.k1, search.b)
    index = DialectIndex(app.database, bm25)
    finder = Finder(
        index,
        FindSettings(duplicate_similarity=app.settings.score.duplicate_similarity, bm25=bm25),
    )
    aliases, weight = await app.glossaries.of(chosen), app.settings.glossary.weight
    expanded = await widened(index, chosen, query, aliases, weight=weight)
    found = await finder.find(chosen, query, limit=limit, expanded=expanded)
    if len(names) > 1:
        said = f"One corpus is searched at a time; this is {chosen.name}."
        found = replace(found, notices=(*found.notices, said))
    return found


def _corpora(query: Query, *, negated: bool) -> list[str]:
    return [f.value for f in query.filters if f.name == "in" and f.negated == negated]


def _nowhere(query: Query, corpus: str, why: str) -> Found:
    return Found(
        query=query,
        expanded=query,
        corpus=corpus,
        plan=Plan.NOTHING,
        counts=Counts(corpus=0),
        notices=(*query.notices, why),
    )
