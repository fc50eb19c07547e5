"""Receipts: why each document was found, and notices about how the answer was made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from engine.corpora import outdated_notice
from engine.messages import Message
from engine.query.plan import Plan, Sought, Wanted
from engine.query.query import Unit
from engine.query.types import FindHit, FoundDocument, Match, Scored
from engine.ranking.bm25 import Bm25, idf
from engine.text.address import addressed
from engine.types import Corpus


@dataclass(frozen=True, slots=True)
class Receipts:
    """Writes the receipts of one answer."""

    corpus: Corpus
    plan: Wanted
    bm25: Bm25

    def hit(self, rank: int, scored: Scored) -> FindHit:
        """Return the hit for a scored document."""
        found, corpus = scored.document, self.corpus
        norm = partial(self.bm25.part, length=found.candidate.length, average=corpus.average_length)
        matches = (_match(one, found, norm, corpus.documents) for one in self.plan.sought)
        return FindHit(
            rank=rank,
            document=attributed(found, corpus),
            score=scored.score,
            matched=tuple(match for match in matches if match.count),
            parts=scored.parts,
            alike=scored.alike,
            elsewhere=scored.elsewhere,
        )

    def notices(self) -> list[Message]:
        """Return the notices for the user about how the answer was made."""
        if not self.corpus.documents:
            return [Message("Corpus {name} is empty.", name=self.corpus.name)]
        said = [outdated] if (outdated := outdated_notice(self.corpus)) else []
        plan = self.plan
        if plan.plan is Plan.NOTHING:
            said.append(Message("There is no word in this to look for."))
        elif plan.ignored:
            words = _listed(plan.ignored)
            said.append(Message("Too common to look for, or no word: {words}.", words=words))
        if plan.unseen:
            said.append(Message("No text says {words}.", words=_listed(plan.unseen)))
        return said


def attributed(found: FoundDocument, corpus: Corpus) -> FoundDocument:
    """Return the document with what its corpus knows of it, and always with an attribution.

    Where the export gave none, it is author, source and date: "ana, x#1374658291, 2012-03-14".
    """
    candidate = addressed(found.candidate, corpus)
    place = f"{candidate.platform or corpus.name}#{candidate.external_id}"
    made = ", ".join(filter(None, (candidate.author, place, f"{candidate.created_at:%Y-%m-%d}")))
    return replace(found, candidate=candidate, attribution=found.attribution or made)


def _match(
    sought: Sought, found: FoundDocument, part: Callable[[int], float], documents: int
) -> Match:
    """Return the match of a term in a document; `part` returns the BM25 part of a frequency."""
    term, alias_of = sought.term, sought.alternative.alias_of
    said = {name: tf for name in sorted(term.lexemes) if (tf := found.frequencies.get(name, 0))}
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


def _listed(found: Sequence[Unit]) -> str:
    return ", ".join(f'"{unit.text}"' for unit in found)
