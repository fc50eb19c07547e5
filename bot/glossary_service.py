"""The glossary as people steer it, from the command line and from chats."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from db.corpus.corpora import Corpora
from db.corpus.glossary import Groups
from db.search.find import DialectIndex
from engine.glossary.dictionary import WordLists
from engine.glossary.groups import AliasGroup, GroupStatus, Pair, pairs, unheard
from engine.glossary.sample import frequent_terms, telling_terms
from engine.glossary.suggest import AskedTerm, SuggestedPair, Suggester, Suggestions
from engine.glossary.terms import checked
from engine.text.clean import searchable
from engine.types import Corpus

_SAMPLE = 5_000  # texts that terms are counted in
_READ = 4  # times as many terms are read as are asked about: stop words and endings fall out


class Searches(Protocol):
    """What people searched for."""

    async def missed(self, corpus: Corpus, limit: int) -> Sequence[str]:
        """Return words of searches that found nothing, those searched most often first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What came of asking the model."""

    asked: int  # terms
    pending: tuple[SuggestedPair, ...]  # wait for a person now
    approved: tuple[SuggestedPair, ...]  # hold, as the settings allow
    left_out: int  # known or rejected before
    answer: Suggestions


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryService:
    """Where groups are written, suggested and decided. A corpus is named; None means all."""

    groups: Groups
    corpora: Corpora
    index: DialectIndex
    resolve: Callable[[str], Awaitable[Corpus]]  # "" is the configured or only one
    searches: Searches | None = None  # None: they are not kept
    suggest_terms: int = 200
    approve_sure: bool = False
    approve_unsure: bool = False

    async def listed(
        self, corpus: str | None = None, status: GroupStatus | None = None
    ) -> list[AliasGroup]:
        """Return the groups; of a corpus, those that hold in it. Raises CorpusNotFound."""
        return await self.groups.groups(status=status, corpus=await self._corpus(corpus))

    async def checked(self, corpus: str | None, terms: Sequence[str]) -> tuple[str, ...]:
        """Return terms that may be a group. Raises InputError, CorpusNotFound."""
        known = [await self.corpora.get(corpus)] if corpus else await self.corpora.list()
        return checked(terms, WordLists(name for one in known for name in one.languages))

    async def add(
        self, corpus: str | None, terms: Sequence[str], *, now: datetime
    ) -> tuple[tuple[str, ...], bool]:
        """Approve a group of a person. Returns its terms, and False where it was known.

        Raises InputError for terms that may be in none, CorpusNotFound.
        """
        clean = await self.checked(corpus, terms)
        return clean, await self.groups.add(await self._corpus(corpus), clean, now=now)

    async def suggest(self, suggester: Suggester, corpus: Corpus, *, now: datetime) -> Proposed:
        """Ask the model about a corpus' terms and store what it suggests.

        Raises ModelError and storage errors.
        """
        terms = await self._terms(corpus)
        answer = await suggester.suggest(corpus, terms, now=now)
        fresh = await self._unheard(corpus, answer.pairs)
        stored: dict[GroupStatus, list[SuggestedPair]] = {one: [] for one in GroupStatus}
        for pair in fresh:
            status = self._status(pair)
            if await self.groups.propose(
                corpus, pair.terms, sure=pair.sure, status=status, now=now
            ):
                stored[status].append(pair)
        return Proposed(
            asked=len(terms),
            pending=tuple(stored[GroupStatus.PENDING]),
            approved=tuple(stored[GroupStatus.APPROVED]),
            left_out=len(answer.pairs) - sum(map(len, stored.values())),
            answer=answer,
        )

    def _status(self, pair: SuggestedPair) -> GroupStatus:
        trusted = self.approve_sure if pair.sure else self.approve_unsure
        return GroupStatus.APPROVED if trusted else GroupStatus.PENDING

    async def _terms(self, corpus: Corpus) -> list[AskedTerm]:
        """Return what to ask about: what was searched in vain, then what the corpus says often."""
        is_word = WordLists(corpus.languages)
        most = self.suggest_terms // 2
        missed = await self.searches.missed(corpus, most) if self.searches else ()
        texts = await self.groups.sample(corpus, _SAMPLE)
        said = frequent_terms(texts, is_word)[: _READ * self.suggest_terms]
        terms = list(dict.fromkeys([*frequent_terms(missed, is_word, least=1), *said]))
        readings = await self.index.read(corpus, [searchable(term) for term in terms])
        in_vain = set(missed)
        return [
            AskedTerm(term, missed=term in in_vain)
            for term in telling_terms(terms, readings, self.suggest_terms)
        ]

    async def _unheard(self, corpus: Corpus, found: Sequence[SuggestedPair]) -> list[SuggestedPair]:
        """Return the pairs that nobody has decided about, in whatever forms of their words."""
        heard: list[Pair] = [one.pair for one in await self.groups.rejected(corpus)]
        for group in await self.groups.groups(corpus=corpus):
            heard += pairs(group.terms)
        texts = [term for pair in found for term in pair.terms]
        texts += [term for pair in heard for term in pair]
        readings = await self.index.read(corpus, [searchable(text) for text in texts])
        return unheard(found, heard, readings)

    async def _corpus(self, name: str | None) -> Corpus | None:
        return await self.corpora.get(name) if name else None
