"""Retrieval of candidates for a headline: by words, by meaning, and by phrases of a model.

docs/decisions/0014-embeddings.md and 0025-expansion.md say why.
"""

import asyncio
import re
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import ModelError
from engine.messages import Message
from engine.ports import SearchIndex
from engine.prophecy.meaning import (
    HeadlineReranker,
    Meaning,
    OnlyWords,
    VectorQuestion,
    describe_partial_vectors,
    embedder_of,
    is_comparable,
    question_of,
    question_or_words,
    vector_of,
)
from engine.ranking import fuse_rankings, idf, list_ranks
from engine.search import Candidate, Expansion, Filters, Mode, Term
from engine.text.clean import camel_parts, make_searchable
from engine.text.language import NAMES
from engine.text.terms import folded_words
from engine.values import Corpus
from engine.vectors import WORD_COUNTERS

if TYPE_CHECKING:
    from engine.prophecy.expand import Phrases

_BY_WORDS, _BY_MEANING = "lexical", "semantic"  # the headline's own lists, as receipts name them
PhraseList = tuple[str, Sequence[int]]  # a phrase, and the ids it found, best first
_HANDLE = re.compile(r"@(\w+)")
_SHORTEST_STEM = 3  # letters that begin words by more than chance
# Candidates proposed for each one wanted, as near-identical texts are collapsed later.
_SPARE = 2
_NEAR_AT_ONCE = 2  # phrases searched by meaning at a time: each search reads all vectors


def discount_false_matches(
    candidates: Iterable[Candidate], terms: Sequence[Term], corpus: Corpus
) -> list[Candidate]:
    """Return the candidates without the words that they share with the headline by coincidence.

    A handle is searched in parts, so that "@BetteMidler" is found by her name; but "@Lord_Sugar"
    says nothing of sugar. And where texts are in several languages, the stem of a word in one of
    them may be another word in another: "hallan" and "hall".
    """
    return [_discount_candidate(candidate, terms, corpus) for candidate in candidates]


def put_unmatched_last(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates with those last that words alone proposed, and that share none."""
    return sorted(
        candidates,
        key=lambda candidate: (
            not (candidate.matched or candidate.asked_for or _BY_MEANING in candidate.ranks)
        ),
    )


def _discount_candidate(candidate: Candidate, terms: Sequence[Term], corpus: Corpus) -> Candidate:
    several = len(corpus.read_in) > 1
    if not candidate.matched or not (several or "@" in candidate.text):
        return candidate
    lexemes = [lexeme for place in candidate.matched for lexeme in terms[place].lexemes]
    words, parts = _split_names(candidate, lexemes)
    # The language in which its words are stored.
    language = NAMES.get(candidate.lang or "", "")
    language = language if language in corpus.read_in else corpus.language
    matched = {
        place: frequency
        for place, frequency in candidate.matched.items()
        # It must not stand only in a part of a longer handle.
        if (_stands_in(terms[place].lexemes, words) or not _stands_in(terms[place].lexemes, parts))
        and not _is_false_stem(terms[place], language, words)
    }
    if len(matched) == len(candidate.matched):
        return candidate

    def weigh(places: Iterable[int]) -> float:
        return sum(
            terms[place].weight * idf(corpus.searchable, terms[place].document_frequency)
            for place in places
        )

    share = weigh(matched) / (weigh(candidate.matched) or 1.0)
    return replace(candidate, matched=matched, bm25=candidate.bm25 * share)


def _split_names(candidate: Candidate, lexemes: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the words of a text, and the parts of its handles of which some are not shared.

    The words of a handle that is shared as a whole count like any others.
    """
    parts: list[str] = []

    def take_parts(handle: re.Match[str]) -> str:
        own = folded_words(" ".join(camel_parts(handle[1])))
        if all(_stands_in(lexemes, [part]) for part in own if len(part) > 1 and part.isalpha()):
            return f" {' '.join(own)} "
        parts.extend(own)
        return " "

    text = _HANDLE.sub(take_parts, f"{candidate.text} {candidate.context or ''}")
    return folded_words(text), parts


def _stands_in(lexemes: Iterable[str], words: Sequence[str]) -> bool:
    return any(
        word == stem or (len(stem) >= _SHORTEST_STEM and word.startswith(stem))
        for stem in lexemes
        for word in words
    )


def _is_false_stem(term: Term, language: str, words: Sequence[str]) -> bool:
    """Return whether a text has a word only as it is read in another language."""
    if not term.read_in:
        return False
    own = [name for name, languages in term.read_in.items() if language in languages]
    # The last letter of a stem may not be in the word: "countri".
    stems = [name[:-1] if len(name) > _SHORTEST_STEM else name for name in own]
    return len(own) < len(term.lexemes) and not _stands_in(stems, words)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedCandidates:
    """The candidates, best first, and how they were found."""

    terms: Sequence[Term]
    candidates: Sequence[Candidate]
    mode: Mode = Mode.LEXICAL
    model: str | None = None  # whose vectors were compared
    notice: Message | None = None  # why the search differs from the requested one
    rerank: HeadlineReranker | None = None  # may still compare the best few by meaning
    expansion: Expansion = Expansion()  # noqa: RUF009 - frozen


class Retriever:
    """Proposes candidates: `limit` by words, and as many by meaning.

    With phrases, it proposes `limit_with_phrases` for the judge, and some to spare.
    """

    def __init__(
        self,
        index: SearchIndex,
        meaning: Meaning | None,
        *,
        limit: int,
        phrases: "Phrases | None" = None,
        limit_with_phrases: int,
    ) -> None:
        self._index = index
        self._meaning = meaning
        self._phrases = phrases
        self._limit = limit
        self._limit_with_phrases = limit_with_phrases

    async def retrieve(
        self,
        corpus: Corpus,
        text: str,
        filters: Filters,
        mode: Mode | None,
        expansion: Awaitable[Expansion] | None = None,
    ) -> RetrievedCandidates:
        """Return candidates for `text`; `mode` None is hybrid if nearly all documents have vectors.

        If they have not, `rerank` of the result may compare the best few. If meaning was requested
        but is not available, the search is by words and the notice says why. `expansion` may still
        be running. Raises the errors of the search index, SettingsError, UsageError if only
        meaning was requested and is not available, and what `expansion` raises.
        """
        terms = await self._index.terms(corpus, make_searchable(text))
        if mode is Mode.SEMANTIC:
            return await self._find_nearest_texts(corpus, text, terms, filters)
        by_words, asked = await asyncio.gather(
            self._index.top(corpus, terms, filters, self._limit),
            question_or_words(self._meaning, corpus, text, mode),
        )
        question = asked if isinstance(asked, VectorQuestion) else None
        proposing = None if mode is Mode.RERANK else question
        near = await proposing.nearest(filters, self._limit) if proposing else {}
        expanded = await expansion if expansion else Expansion()
        lists = await self._phrase_lists(corpus, expanded.phrases, filters, proposing)
        candidates = await self._merge_lists(corpus, terms, by_words, list(near), lists)
        if question:
            candidates = await _compare_by_meaning(
                question, near, candidates, reorder=proposing is None
            )
        notice, rerank = self._choose_reranker(corpus, asked)
        return RetrievedCandidates(
            terms=terms,
            candidates=candidates,
            mode=(mode or Mode.HYBRID) if question else Mode.LEXICAL,
            model=question.space.model if question else None,
            notice=notice,
            rerank=rerank,
            expansion=expanded,
        )

    async def _merge_lists(
        self,
        corpus: Corpus,
        terms: Sequence[Term],
        by_words: Sequence[Candidate],
        by_meaning: Sequence[int],
        by_phrases: Sequence[PhraseList],
    ) -> list[Candidate]:
        """Return the candidates of all lists, which count the same."""
        own = {_BY_WORDS: [candidate.id for candidate in by_words], _BY_MEANING: by_meaning}
        order = fuse_rankings([*own.values(), *(ids for _, ids in by_phrases)])
        if by_phrases:
            order = order[: _SPARE * self._limit_with_phrases]
        ranks, asked_for = list_ranks(own.items()), list_ranks(by_phrases)
        ranked = [
            replace(
                candidate,
                ranks=ranks.get(candidate.id, {}),
                asked_for=asked_for.get(candidate.id, {}),
            )
            for candidate in await self._describe_candidates(corpus, terms, order, by_words)
        ]
        return put_unmatched_last(discount_false_matches(ranked, terms, corpus))

    def _choose_reranker(
        self, corpus: Corpus, asked: VectorQuestion | OnlyWords
    ) -> tuple[Message | None, HeadlineReranker | None]:
        """Return what to say of the search by meaning, and what may compare the best few."""
        if isinstance(asked, OnlyWords):
            return asked.notice, asked.rerank
        tuned = self._meaning.reranker if self._meaning else None
        # A tuned one predicts which of the best few are useful.
        return describe_partial_vectors(asked), tuned if tuned and tuned.is_tuned(corpus) else None

    async def _find_nearest_texts(
        self, corpus: Corpus, text: str, terms: Sequence[Term], filters: Filters
    ) -> RetrievedCandidates:
        """Return the nearest texts, nearest first, however low their similarity."""
        question = await question_of(self._meaning, corpus, text)
        if question is None:
            return RetrievedCandidates(terms=terms, candidates=[], mode=Mode.SEMANTIC)
        near = await question.nearest(filters, self._limit)
        described = await self._describe_candidates(corpus, terms, list(near), ())
        ranks = list_ranks([(_BY_MEANING, list(near))])
        return RetrievedCandidates(
            terms=terms,
            candidates=[
                replace(
                    candidate,
                    similarity=question.rate_similarity(near[candidate.id]),
                    ranks=ranks[candidate.id],
                )
                for candidate in described
            ],
            mode=Mode.SEMANTIC,
            model=question.space.model,
            notice=describe_partial_vectors(question),
        )

    async def _phrase_lists(
        self,
        corpus: Corpus,
        phrases: Sequence[str],
        filters: Filters,
        question: VectorQuestion | None,
    ) -> list[PhraseList]:
        """Return a list by words for each phrase, and one by meaning if there is a question."""
        if not phrases or self._phrases is None:
            return []
        limit, turns = self._limit_with_phrases, asyncio.Semaphore(_NEAR_AT_ONCE)
        embedder = embedder_of(self._meaning, corpus)
        # Vectors of word counts would only repeat the search by words, and less well.
        means = question is not None and question.space.model not in WORD_COUNTERS

        async def near(phrase: str) -> list[int]:
            if not means or question is None or embedder is None:
                return []
            async with turns:
                try:
                    vector = await vector_of(embedder, phrase)
                except ModelError:  # the headline's lists and the phrase's lexical list remain
                    return []
                if not is_comparable(vector, question.space):
                    return []
                return list(await replace(question, vector=vector).nearest(filters, limit))

        by_words, by_meaning = await asyncio.gather(
            self._phrases.index.rank_phrases(corpus, phrases, filters, limit),
            asyncio.gather(*map(near, phrases)),
        )
        return list(zip([*phrases, *phrases], [*by_words, *by_meaning], strict=True))

    async def _describe_candidates(
        self,
        corpus: Corpus,
        terms: Sequence[Term],
        ids: Sequence[int],
        by_words: Sequence[Candidate],
    ) -> list[Candidate]:
        """Return the candidates that still exist, in this order."""
        by_id = {candidate.id: candidate for candidate in by_words}
        source = self._phrases or self._meaning
        strangers = [document_id for document_id in ids if document_id not in by_id]
        if source and strangers:
            described = await source.descriptions.describe_documents(corpus, terms, strangers)
            by_id |= {candidate.id: candidate for candidate in described}
        return [by_id[document_id] for document_id in ids if document_id in by_id]


async def _compare_by_meaning(
    question: VectorQuestion,
    near: Mapping[int, float],
    candidates: Sequence[Candidate],
    *,
    reorder: bool,
) -> list[Candidate]:
    """Return candidates with their similarity; with `reorder`, use it in the order as well."""
    by_id = {candidate.id: candidate for candidate in candidates}
    cosines = {
        **near,
        **await question.cosines([document_id for document_id in by_id if document_id not in near]),
    }
    order = list(by_id)
    if reorder:
        order = fuse_rankings(
            [order, sorted(cosines, key=lambda document_id: -cosines[document_id])]
        )
    return [
        replace(by_id[document_id], similarity=question.similarity(cosines.get(document_id)))
        for document_id in order
    ]
