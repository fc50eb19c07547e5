"""The answers of several corpora to one headline as one answer. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from engine.corpora import ALL
from engine.messages import Message, join_messages
from engine.prophecy.score import level_hits, order_hits
from engine.search import Expansion, Hit, Prophecy, Term, join_verdicts
from engine.text.address import name_voice
from engine.values import Corpus, add_usage


def merge_prophecies(
    answers: Sequence[tuple[Corpus, Prophecy]], limit: int, weights: Mapping[str, float]
) -> Prophecy:
    """Return one answer with the best `limit` hits of all, each with the voice that wrote it.

    Judged hits go before others, whichever corpus they are from, and ranks continue from the hits
    to the near texts, as in the answer of one corpus. `weights` are those of the parts of scores,
    which are made comparable. There must be at least one answer, and all must be to one headline.
    """
    prophecies = [prophecy for _, prophecy in answers]
    of_hits = [(corpus, answer.hits) for corpus, answer in answers]
    of_near = [(corpus, answer.near) for corpus, answer in answers]
    hits = _rank_best(of_hits, limit, weights, after=0)
    near = _rank_best(of_near, limit, weights, after=len(hits))
    by_meaning = next(
        (answered for answered in prophecies if answered.embedding_model), prophecies[0]
    )
    return replace(
        prophecies[0],
        corpus=ALL,
        hits=hits,
        near=near,
        terms=_merge_terms(prophecies),
        candidates=tuple(chain.from_iterable(answered.candidates for answered in prophecies)),
        verdict=join_verdicts([answered.verdict for answered in prophecies]),
        coverage=max(answered.coverage for answered in prophecies),
        notice=_join_distinct(answered.notice for answered in prophecies),
        mode=by_meaning.mode,
        embedding_model=by_meaning.embedding_model,
        expansion=_merge_expansions([answered.expansion for answered in prophecies]),
        compared=sum(answered.compared for answered in prophecies),
        unfinished=any(answered.unfinished for answered in prophecies),
    )


def _rank_best(
    answers: Sequence[tuple[Corpus, Sequence[Hit]]],
    limit: int,
    weights: Mapping[str, float],
    *,
    after: int,
) -> tuple[Hit, ...]:
    named = [
        replace(hit, candidate=name_voice(hit.candidate, corpus))
        for corpus, hits in answers
        for hit in hits
    ]
    ordered = sorted(level_hits(named, weights), key=_build_order_key)[:limit]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=after + 1))


def _build_order_key(hit: Hit) -> tuple[object, ...]:
    """Return a sort key: the better judgment first, then the better rank in its own answer."""
    judgment = hit.parts.get("judgment")
    return (judgment is None, -(judgment or 0.0), hit.rank if judgment else 0, *order_hits(hit))


def _merge_terms(prophecies: Sequence[Prophecy]) -> tuple[Term, ...]:
    terms: dict[str, Term] = {}
    for term in chain.from_iterable(prophecy.terms for prophecy in prophecies):
        # A word that one archive has needs no neighbour in the answer of all.
        written = term.neighbour_of or term.word
        before = terms.get(written)
        if before is None or (before.neighbour_of and not term.neighbour_of):
            terms[written] = term
        elif not before.neighbour_of and not term.neighbour_of:  # their languages may differ
            terms[written] = replace(
                before,
                lexemes=tuple(dict.fromkeys((*before.lexemes, *term.lexemes))),
                document_frequency=before.document_frequency + term.document_frequency,
                max_tf=max(before.max_tf, term.max_tf),
                read_in={**before.read_in, **term.read_in},
            )
    return tuple(terms.values())


def _merge_expansions(expansions: Sequence[Expansion]) -> Expansion:
    """Return the phrases of all, each once, and what they cost together."""
    naming = [expansion for expansion in expansions if expansion.phrases]
    return replace(
        naming[0] if naming else expansions[0],
        phrases=tuple(
            dict.fromkeys(chain.from_iterable(expansion.phrases for expansion in expansions))
        ),
        usage=add_usage(expansion.usage for expansion in expansions),
        cached=bool(naming) and all(expansion.cached for expansion in naming),
        late=any(expansion.late for expansion in expansions),
        seconds=max(
            (expansion.seconds for expansion in expansions if expansion.seconds is not None),
            default=None,
        ),
    )


def _join_distinct(notices: Iterable[Message | None]) -> Message | None:
    """Return the notices as one, each once, or None."""
    joined: Message | None = join_messages(*dict.fromkeys(notice for notice in notices if notice))
    return joined
