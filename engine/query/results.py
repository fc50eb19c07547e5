"""The results of a query of the dialect: hits, receipts, their order over several archives."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial, reduce

from engine.corpora import ALL, outdated_notice
from engine.messages import Message
from engine.ports import LexemeSource
from engine.query.query import Plan, PlannedSearch, Query, Sought, Unit
from engine.ranking import DEFAULT, idf
from engine.search import FIRST_MOMENT, Candidate, order_by_date
from engine.text.address import address_candidate, name_voice
from engine.text.clean import fold_case_and_accents, make_searchable
from engine.text.snippet import (
    RADIUS,
    Excerpt,
    Known,
    Spot,
    choose_window,
    find_words,
    may_match,
    searched_words,
    voice_terms,
)
from engine.text.terms import Reading
from engine.values import Corpus, Kind

SHORT = 280  # characters; texts up to this length are always shown whole


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document that matches the query, with fields that headlines do not need."""

    candidate: Candidate  # its `matched` is empty: lexemes are counted here
    frequencies: Mapping[str, int]  # scored lexeme -> frequency in the document
    in_text: Mapping[str, int]  # the same for its own text, without the message it answers
    title: str | None
    role: str | None
    thread: str | None
    attribution: str | None
    tags: tuple[str, ...]
    mentions: tuple[str, ...]
    engagement: int
    domain: str | None = None  # of its page, without "www."
    attachments: tuple[str, ...] = ()  # names or addresses of files
    participants: tuple[str, ...] = ()  # of its conversation, where the export tells


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocuments:
    """The first documents in the plan's order, and how many there are in all."""

    matching: int | None  # have the words; None: no words were searched
    passing: int  # of those, also pass the filters
    documents: Sequence[FoundDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One part of the query in one hit."""

    term: str  # the word or phrase, as the dialect writes it
    alias_of: str | None  # what the user wrote, if an alias of it was found
    lexemes: tuple[str, ...]  # those in the document
    count: int  # their frequency
    fields: tuple[str, ...]  # "text", "context" (the message it answers)
    score: float  # its part of the hit's BM25


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """An answer to a post, in the same corpus."""

    external_id: str
    text: str
    created_at: datetime
    author: str | None
    url: str | None
    engagement: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FindHit:
    """One found document, and why it was found."""

    rank: int = 0  # from 1; 0 until the order is final
    document: FoundDocument
    score: float | None = None  # BM25, or the profile's; None if no words were searched
    matched: tuple[Match, ...] = ()
    parts: Mapping[str, float | None] = field(default_factory=dict)  # of a profile's score, 0..1
    alike: int = 0  # near-identical documents left out in its favour
    elsewhere: int = 0  # other parts of its item left out in its favour
    excerpt: Excerpt | None = None  # None: show the whole text
    voice_terms: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()  # the strongest first
    similarity: float | None = None  # by meaning, if requested

    @property
    def created_at(self) -> datetime | None:
        """When the document was written."""
        return self.document.candidate.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many documents are left after each stage."""

    corpus: int
    matching: int | None = None  # have the words; None: no words were searched
    passing: int = 0  # also pass the filters
    fetched: int = 0  # the first of those
    distinct: int = 0  # of the fetched, without near-identical ones
    returned: int = 0
    elsewhere: int = 0  # of the fetched, left out in favour of another part of their item
    candidates: int | None = None  # ranked by a profile, before the cut to `fetched`


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The answer to a query, with its receipt."""

    query: Query
    expanded: Query
    corpus: str
    kind: Kind | None = None  # None: no such corpus
    plan: Plan
    counts: Counts
    hits: tuple[FindHit, ...] = ()
    notices: tuple[Message, ...] = ()


def touched_platforms(answer: QueryAnswer) -> tuple[str, ...]:
    """Return the platforms of the hits in lower case, in the order of their best hits."""
    platforms = (hit.document.candidate.platform for hit in answer.hits)
    return tuple(dict.fromkeys(platform.lower() for platform in platforms if platform))


@dataclass(frozen=True, slots=True)
class Receipts:
    """Writes the receipts of one answer."""

    corpus: Corpus
    plan: PlannedSearch

    def explain(self, rank: int, hit: FindHit) -> FindHit:
        """Return a hit with its rank, its attribution and what matched."""
        document, corpus = hit.document, self.corpus
        norm = partial(
            DEFAULT.part, length=document.candidate.length, average=corpus.average_length
        )
        matches = (
            _build_match(sought, document, norm, corpus.searchable_documents)
            for sought in self.plan.sought
        )
        return replace(
            hit,
            rank=rank,
            document=attribute_document(document, corpus),
            matched=tuple(match for match in matches if match.count),
        )

    def notices(self) -> list[Message]:
        """Return the notices for the user about how the answer was made."""
        if not self.corpus.documents:
            return [Message("Corpus {name} is empty.", name=self.corpus.name)]
        notices = [outdated] if (outdated := outdated_notice(self.corpus)) else []
        plan = self.plan
        if plan.plan is Plan.NOTHING:
            notices.append(Message("There is no word in this to look for."))
        elif plan.ignored:
            words = _quote_units(plan.ignored)
            notices.append(Message("Too common to look for, or no word: {words}.", words=words))
        if plan.unseen:
            notices.append(Message("No text says {words}.", words=_quote_units(plan.unseen)))
        return notices


def attribute_document(document: FoundDocument, corpus: Corpus) -> FoundDocument:
    """Return the document with what its corpus knows of it, and always with an attribution.

    Where the export gave none, it is author, source and date: "ana, x#1374658291, 2012-03-14".
    """
    candidate = address_candidate(document.candidate, corpus)
    place = f"{candidate.platform or corpus.name}#{candidate.external_id}"
    day = f"{candidate.created_at:%Y-%m-%d}" if candidate.created_at else None
    made = ", ".join(filter(None, (candidate.author, place, day)))
    return replace(document, candidate=candidate, attribution=document.attribution or made)


def _build_match(
    sought: Sought, document: FoundDocument, part: Callable[[int], float], documents: int
) -> Match:
    """Return the match of a term in a document; `part` returns the BM25 part of a frequency."""
    term, alias_of = sought.term, sought.alternative.alias_of
    frequencies = {
        name: tf for name in sorted(term.lexemes) if (tf := document.frequencies.get(name, 0))
    }
    own = sum(document.in_text.get(name, 0) for name in frequencies)
    count = sum(frequencies.values())
    weight = term.weight * idf(documents, term.document_frequency)
    return Match(
        term=str(sought.alternative.unit),
        alias_of=None if alias_of is None else str(alias_of),
        lexemes=tuple(frequencies),
        count=count,
        fields=(*(("text",) if own else ()), *(("context",) if count > own else ())),
        score=weight * sum(map(part, frequencies.values())),
    )


def _quote_units(units: Sequence[Unit]) -> Message:
    quoted = [Message('"{word}"', word=unit.text) for unit in units]
    return reduce(lambda some, more: Message("{some}, {more}", some=some, more=more), quoted)


def _build_order_key(hit: FindHit) -> tuple[object, ...]:
    """Return a sort key that orders hits of several archives as each has ordered its own."""
    if hit.similarity is None and hit.score is None:  # the newest first
        return (0.0, 0.0, hit.created_at is None, -(hit.created_at or FIRST_MOMENT).timestamp())
    return (-(hit.similarity or 0.0), -(hit.score or 0.0), *order_by_date(hit.created_at))


def found_together(answers: Sequence[tuple[Corpus, QueryAnswer]], limit: int) -> QueryAnswer:
    """Return one answer with the first `limit` hits of all: best first, or newest first.

    Each hit names its corpus and its voice. What one archive lacks is no news if another has it, so
    only notices of all are kept. There must be at least one answer, and all must be to one query.
    """
    founds = [answer for _, answer in answers]
    hits = [
        replace(
            hit,
            document=replace(hit.document, candidate=name_voice(hit.document.candidate, corpus)),
        )
        for corpus, answer in answers
        for hit in answer.hits
    ]
    hits.sort(key=_build_order_key)
    ranked = tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:limit], start=1))
    return replace(
        founds[0],
        corpus=ALL,
        hits=ranked,
        counts=_sum_counts([answer.counts for answer in founds], returned=len(ranked)),
        notices=(
            *(
                notice
                for notice in founds[0].notices
                if all(notice in other.notices for other in founds)
            ),
            *filter(None, (outdated_notice(corpus) for corpus, _ in answers)),
        ),
    )


def _sum_counts(counts: Sequence[Counts], *, returned: int) -> Counts:
    matching = [count.matching for count in counts if count.matching is not None]
    candidates = [count.candidates for count in counts if count.candidates is not None]
    return Counts(
        corpus=sum(count.corpus for count in counts),
        matching=sum(matching) if matching else None,
        passing=sum(count.passing for count in counts),
        fetched=sum(count.fetched for count in counts),
        distinct=sum(count.distinct for count in counts),
        returned=returned,
        candidates=sum(candidates) if candidates else None,
    )


def order_by_similarity(
    answer: QueryAnswer, similarities: Mapping[int, float], limit: int
) -> QueryAnswer:
    """Return the first `limit` hits by similarity; those without one come last."""

    def order(hit: FindHit) -> tuple[bool, float, int]:
        similar = similarities.get(hit.document.candidate.id)
        return similar is None, -(similar or 0.0), hit.rank

    hits = [
        replace(hit, rank=rank, similarity=similarities.get(hit.document.candidate.id))
        for rank, hit in enumerate(sorted(answer.hits, key=order)[:limit], start=1)
    ]
    notices = answer.notices
    if unknown := len(answer.hits) - len(similarities):
        notices = (
            *notices,
            Message("{number} of the texts found are not ordered by meaning.", number=unknown),
        )
    return replace(
        answer, hits=tuple(hits), notices=notices, counts=replace(answer.counts, returned=len(hits))
    )


async def present_hits(
    index: LexemeSource, corpus: Corpus, answer: QueryAnswer, *, voice: bool
) -> QueryAnswer:
    """Return the hits with excerpts and, with `voice`, voice terms.

    Queries the database for the words of texts that may have to be cut, and for those of excerpts
    that need voice terms. Raises the errors of the index.
    """
    radius = RADIUS[corpus.kind]
    long = [hit for hit in answer.hits if len(_hit_text(hit)) > SHORT]
    near: set[str] = set()
    for hit in long:
        lexemes = {lexeme for match in hit.matched for lexeme in match.lexemes}
        words = {spot.word for spot in searched_words(_hit_text(hit))}
        near |= {word for word in words if may_match(word, lexemes, fold_case_and_accents)}
    frequencies = await _count_known_words(index, corpus, near)
    hits = [replace(hit, excerpt=_build_excerpt(hit, radius, frequencies)) for hit in answer.hits]
    if voice:
        spoken = {spot.word for hit in hits for spot in find_words(_text_to_show(hit))}
        frequencies |= await _count_known_words(index, corpus, spoken - frequencies.keys())
        documents = answer.counts.corpus
        hits = [
            replace(hit, voice_terms=voice_terms(_text_to_show(hit), frequencies, documents))
            for hit in hits
        ]
    return replace(answer, hits=tuple(hits))


def _hit_text(hit: FindHit) -> str:
    return hit.document.candidate.text


def _text_to_show(hit: FindHit) -> str:
    return hit.excerpt.text if hit.excerpt else _hit_text(hit)


def _build_excerpt(hit: FindHit, radius: int | None, frequencies: Mapping[str, Known]) -> Excerpt:
    worth = {lexeme: match.score / match.count for match in hit.matched for lexeme in match.lexemes}
    matches: list[tuple[Spot, float]] = []
    for spot in searched_words(_hit_text(hit)):
        lexemes = frequencies[spot.word].lexemes if spot.word in frequencies else ()
        if value := max((worth.get(lexeme, 0.0) for lexeme in lexemes), default=0.0):
            matches.append((spot, value))
    return choose_window(_hit_text(hit), matches, radius)


async def _count_known_words(
    index: LexemeSource, corpus: Corpus, words: Iterable[str]
) -> dict[str, Known]:
    """Return the corpus' figures for words, without those that have no lexeme in any language."""
    ordered = sorted(words)
    if not ordered:
        return {}
    by_word: dict[int, list[Reading]] = defaultdict(list)
    for reading in await index.read(corpus, [make_searchable(word) for word in ordered]):
        by_word[reading.unit].append(reading)
    languages = set(corpus.query_languages)
    return {
        ordered[unit]: Known(
            lexemes=tuple(dict.fromkeys(slot.lexeme for slot in readings)),
            document_frequency=max(slot.document_frequency for slot in readings),
            telling={slot.language for slot in readings} == languages,
        )
        for unit, readings in by_word.items()
    }
