"""Editing the glossary, for the command line and for chats."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from bot.app import App
from bot.query_log import log_of
from db.corpus.glossary import Groups
from db.search.find import DialectIndex
from engine.errors import InputError
from engine.glossary.groups import (
    AliasGroup,
    GroupStatus,
    Pair,
    check_terms,
    drop_heard_pairs,
    fold_terms,
    frequent_terms,
    list_pairs,
    telling_terms,
)
from engine.glossary.suggest import AskedTerm, SuggestedPair, Suggester, Suggestions, WordLists
from engine.messages import Message
from engine.text.clean import make_searchable
from engine.values import Corpus

_SUGGESTED = 200  # terms that are asked about at a time
_SAMPLE = 5_000  # texts in which terms are counted
_READ = 4  # terms read for each one asked about, as stop words and inflected forms are dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionResult:
    """The result of asking the model for suggestions."""

    asked: int  # terms
    pending: tuple[SuggestedPair, ...]  # waiting for a person's decision
    approved: tuple[SuggestedPair, ...]  # approved at once, as the settings allow
    left_out: int  # known or rejected before
    answer: Suggestions


@dataclass(frozen=True, slots=True)
class GlossaryService:
    """Writes, suggests and decides groups. A corpus is given by name; None means all."""

    app: App

    @property
    def groups(self) -> Groups:
        """The stored groups."""
        return Groups(self.app.database)

    @property
    def _protected(self) -> frozenset[str]:
        """The keys of names that are in no group."""
        return frozenset(fold_terms(self.app.settings.glossary.protected))

    async def list_groups(
        self, corpus: str | None, status: GroupStatus | None = None
    ) -> list[AliasGroup]:
        """Return all groups, or those that apply to a corpus. Raises CorpusNotFound."""
        return await self.groups.groups(status=status, corpus=await self._find_corpus(corpus))

    async def check_terms_for(self, corpus: str | None, terms: Sequence[str]) -> tuple[str, ...]:
        """Return the cleaned terms of a valid group. Raises InputError, CorpusNotFound."""
        stored = self.app.corpora
        corpora = [await stored.get(corpus)] if corpus else await stored.list()
        is_word = WordLists(name for known_corpus in corpora for name in known_corpus.languages)
        return check_terms(terms, is_word, self._protected)

    async def add(
        self, corpus: str | None, terms: Sequence[str], *, now: datetime
    ) -> tuple[tuple[str, ...], bool]:
        """Add a group as approved. Returns its terms, and False if it was already known.

        Raises InputError for terms that cannot form a group, CorpusNotFound.
        """
        clean = await self.check_terms_for(corpus, terms)
        return clean, await self.groups.add(await self._find_corpus(corpus), clean, now=now)

    async def approve(self, corpus: str | None, ids: Sequence[int]) -> list[AliasGroup]:
        """Approve groups that apply to a corpus, and return them. Raises InputError, changing
        nothing."""
        await self._require_groups(corpus, ids)
        return await self.groups.approve(ids)

    async def reject(
        self, corpus: str | None, ids: Sequence[int], *, now: datetime
    ) -> list[tuple[str, ...]]:
        """Remove groups that apply to a corpus, never suggest their pairs again, and return their
        terms. Raises InputError, changing nothing."""
        await self._require_groups(corpus, ids)
        return await self.groups.reject(ids, now=now)

    async def _require_groups(self, corpus: str | None, ids: Sequence[int]) -> None:
        known = {group.id for group in await self.list_groups(corpus)}
        for number in ids:
            if number not in known:
                raise InputError(Message("There is no group {number}.", number=number))

    async def suggest(
        self, suggester: Suggester, corpus: Corpus, *, now: datetime
    ) -> SuggestionResult:
        """Ask the model about a corpus' terms and store what it suggests.

        Raises ModelError and storage errors.
        """
        terms = await self._list_terms(corpus)
        answer = await suggester.suggest(corpus, terms, now=now)
        fresh = await self._list_unheard(corpus, answer.pairs)
        stored: dict[GroupStatus, list[SuggestedPair]] = {status: [] for status in GroupStatus}
        for pair in fresh:
            trusted = self.app.settings.glossary.approve_sure and pair.sure
            status = GroupStatus.APPROVED if trusted else GroupStatus.PENDING
            if await self.groups.propose(
                corpus, pair.terms, sure=pair.sure, status=status, now=now
            ):
                stored[status].append(pair)
        return SuggestionResult(
            asked=len(terms),
            pending=tuple(stored[GroupStatus.PENDING]),
            approved=tuple(stored[GroupStatus.APPROVED]),
            left_out=len(answer.pairs) - sum(map(len, stored.values())),
            answer=answer,
        )

    async def _list_terms(self, corpus: Corpus) -> list[AskedTerm]:
        """Return the terms to ask about: of failed searches first, then frequent in the corpus."""
        is_word = WordLists(corpus.languages)
        searches = log_of(self.app.database, self.app.settings)  # None when none are logged
        missed = await searches.list_missed(corpus, _SUGGESTED // 2) if searches else ()
        texts = await self.groups.sample(corpus, _SAMPLE)
        frequent = partial(frequent_terms, is_word=is_word, names=self._protected)
        words = frequent(texts)[: _READ * _SUGGESTED]
        terms = list(dict.fromkeys([*frequent(missed, minimum=1), *words]))
        readings = await DialectIndex(self.app.database).read(
            corpus, [make_searchable(term) for term in terms]
        )
        in_vain = set(missed)
        return [
            AskedTerm(term, missed=term in in_vain)
            for term in telling_terms(terms, readings, _SUGGESTED)
        ]

    async def _list_unheard(
        self, corpus: Corpus, pairs: Sequence[SuggestedPair]
    ) -> list[SuggestedPair]:
        """Return the pairs not yet known or rejected in any form of their words."""
        heard: list[Pair] = [barred.pair for barred in await self.groups.rejected_pairs(corpus)]
        for group in await self.groups.groups(corpus=corpus):
            heard += list_pairs(group.terms)
        texts = [term for pair in pairs for term in pair.terms]
        texts += [term for pair in heard for term in pair]
        readings = await DialectIndex(self.app.database).read(
            corpus, [make_searchable(text) for text in texts]
        )
        return drop_heard_pairs(pairs, heard, readings)

    async def _find_corpus(self, name: str | None) -> Corpus | None:
        return await self.app.corpora.get(name) if name else None
