"""The dialect's job: a query finds exactly the documents that meet it, with receipts.

query -> lexemes -> plan -> matching documents -> best or newest -> distinct -> hits
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from engine.address import addressed
from engine.bm25 import Bm25, idf
from engine.distinct import alike
from engine.find_plan import LanguageQuery, Plan, Reading, Sought, Wanted, units, wanted
from engine.find_types import Counts, FindHit, Found, FoundDocument, Match, Retrieved
from engine.query import Query, Unit
from engine.query_filters import Conditions, conditions
from engine.text import searchable
from engine.types import Corpus, Term

DEFAULT_LIMIT = 20
_SPARE = 20  # more than the limit is fetched at first, for some are near-identical


class FindIndex(Protocol):
    """What the job needs of the database. Each method may raise what engine.ports lists."""

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> Sequence[Reading]:
        """Return the lexemes of texts, normalised by engine.text, in the corpus' languages."""

    async def ranked(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        terms: Sequence[Term],
        required: Conditions,
        limit: int,
    ) -> Retrieved:
        """Return the exact best `limit` by BM25 over `terms`, ties by date then id."""

    async def newest(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        required: Conditions,
        limit: int,
    ) -> Retrieved:
        """Return the newest `limit` that hold nothing of what is excluded, ties by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSettings:
    """How alike texts must be to count as one (0..100), and the parameters of BM25."""

    duplicate_similarity: float = 90.0
    bm25: Bm25 = field(default_factory=Bm25)


class Finder:
    """Answers queries of the dialect from one index."""

    def __init__(self, index: FindIndex, settings: FindSettings | None = None) -> None:
        self._index = index
        self._settings = settings or FindSettings()

    async def find(
        self,
        corpus: Corpus,
        query: Query,
        *,
        limit: int = DEFAULT_LIMIT,
        expanded: Query | None = None,
    ) -> Found:
        """Return at most `limit` hits of a query. Raises the errors of the index.

        `expanded` is the query with aliases, which is looked for in its place.
        """
        looked_for = expanded or query
        texts = [searchable(unit.text) for unit in units(looked_for)]
        readings = await self._index.read(corpus, texts) if texts else []
        languages = corpus.languages or (corpus.language,)
        plan = wanted(looked_for, languages, readings, corpus.documents)
        retrieved, kept = await self._retrieved(corpus, plan, conditions(query.filters), limit)
        shown = [self._hit(corpus, plan, rank, one) for rank, one in enumerate(kept[:limit], 1)]
        return Found(
            query=query,
            expanded=looked_for,
            corpus=corpus.name,
            plan=plan.plan,
            counts=Counts(
                corpus=corpus.documents,
                matching=retrieved.matching,
                passing=retrieved.passing,
                fetched=len(retrieved.documents),
                distinct=len(kept),
                returned=len(shown),
            ),
            hits=tuple(shown),
            notices=(*query.notices, *_notices(corpus, plan)),
        )

    async def _retrieved(
        self, corpus: Corpus, plan: Wanted, required: Conditions, limit: int
    ) -> tuple[Retrieved, list[FoundDocument]]:
        """Fetch until `limit` documents are distinct, or there are no more."""
        wide = limit + max(_SPARE, limit // 2)
        while True:
            retrieved = await self._first(corpus, plan, required, wide)
            kept = self._distinct(retrieved.documents)
            if len(kept) >= limit or len(retrieved.documents) < wide:
                return retrieved, kept
            wide *= 4

    async def _first(
        self, corpus: Corpus, plan: Wanted, required: Conditions, limit: int
    ) -> Retrieved:
        match plan.plan:
            case Plan.RANKED:
                return await self._index.ranked(
                    corpus, plan.by_language, plan.terms, required, limit
                )
            case Plan.NEWEST:
                return await self._index.newest(corpus, plan.by_language, required, limit)
            case Plan.NOTHING:
                return Retrieved(matching=None, passing=0, documents=())

    def _distinct(self, documents: Sequence[FoundDocument]) -> list[FoundDocument]:
        """Keep the first of each group of near-identical texts: the best, or the newest."""
        by_id = {one.candidate.id: one for one in documents}
        groups = alike(
            [one.candidate for one in documents], similarity=self._settings.duplicate_similarity
        )
        return [by_id[group[0].id] for group in groups]

    def _hit(self, corpus: Corpus, plan: Wanted, rank: int, found: FoundDocument) -> FindHit:
        norm = partial(
            self._settings.bm25.part,
            length=found.candidate.length,
            average=corpus.average_length,
        )
        matches = (_match(one, found, norm, corpus.documents) for one in plan.sought)
        return FindHit(
            rank=rank,
            document=replace(found, candidate=addressed(found.candidate, corpus)),
            score=found.candidate.bm25 if plan.plan is Plan.RANKED else None,
            matched=tuple(match for match in matches if match.count),
        )


def _match(
    sought: Sought, found: FoundDocument, part: Callable[[int], float], documents: int
) -> Match:
    """Return what a term adds to a document; `part` gives the share of a frequency."""
    term, alias_of = sought.term, sought.alternative.alias_of
    said = {name: tf for name in term.lexemes if (tf := found.frequencies.get(name, 0))}
    own = sum(found.in_text.get(name, 0) for name in said)
    count = sum(said.values())
    weight = term.weight * idf(documents, term.document_frequency)
    return Match(
        term=str(sought.alternative.unit),
        alias_of=None if alias_of is None else str(alias_of),
        lexemes=tuple(said),
        count=count,
        fields=(*(("text",) if own else ()), *(("context",) if count > own else ())),
        score=weight * sum(map(part, said.values())),
    )


def _notices(corpus: Corpus, plan: Wanted) -> list[str]:
    """Return what a person should know about how the answer came about."""
    if not corpus.documents:
        return [f"Corpus {corpus.name} is empty."]
    said = []
    if plan.plan is Plan.NOTHING:
        said.append("There is no word in this to look for.")
    elif plan.ignored:
        said.append(f"Too common to look for, or no word: {_listed(plan.ignored)}.")
    if plan.unseen:
        said.append(f"No text says {_listed(plan.unseen)}.")
    return said


def _listed(found: Sequence[Unit]) -> str:
    return ", ".join(f'"{unit.text}"' for unit in found)
